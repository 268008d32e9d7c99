// Only so that the frameworks have something to be compiled with.
