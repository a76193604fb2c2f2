// Chooses the store of the tests before any of them runs. Without debug information there is none to choose.

__attribute__((weak)) void hearth_start_reference(void);

__attribute__((constructor)) static void start(void) {
  if (hearth_start_reference) {
    hearth_start_reference();
  }
}
