#include "analysis.h"
void analysis_hints(struct ir_kernel *kernel, akg_diagnostics *diagnostics){(void)kernel;(void)diagnostics;}
