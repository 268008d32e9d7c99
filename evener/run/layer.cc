// Keeps the layer a library until its first source arrives.
