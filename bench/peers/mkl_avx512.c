/* MKL inside PyTorch takes its AVX-512 code only on Intel's processors, and slower code on others that have the same
   instructions. Preloaded, these two answer its question with yes. Only the runs named mkl512 use it. */
int mkl_serv_intel_cpu(void) { return 1; }
int mkl_serv_intel_cpu_true(void) { return 1; }
