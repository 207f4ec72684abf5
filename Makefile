# Makefile: non-recursive; sources are found by folder; everything made lies
# under build/. Run ./configure first: it writes config.mk.
#
#   make SANITIZE=address,undefined    a variant in build/address-undefined (also: thread)
#   make FAULTS=1                      with injection of failures, in build/faults
#   make CC=clang                      with another compiler, in build/clang
#   make WERROR=1                      warnings are errors
#   make V=1                           print whole commands
#   make check FILTER=unit             only the tests whose kind and path hold that

.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL = all

needs_no_config = clean distclean docs format format-check
ifneq ($(filter-out $(needs_no_config),$(or $(MAKECMDGOALS),all)),)
ifeq ($(wildcard config.mk),)
$(error there is no config.mk: run ./configure first)
endif
include config.mk
endif

empty =
space = $(empty) $(empty)
comma = ,

# ---- variants ------------------------------------------------------------------

ifneq ($(CC),$(CONFIGURED_CC))
compiler_variant = $(notdir $(firstword $(CC)))
endif
variant = $(subst $(space),-,$(strip $(compiler_variant) $(subst $(comma),-,$(SANITIZE)) \
            $(if $(COVERAGE),coverage) $(if $(FAULTS),faults)))
B := build$(addprefix /,$(variant))

CFLAGS ?= -O2 -g
# A product and a sum are never contracted: the interpreter and the compiled code must agree to the bit.
flags = -std=gnu11 -Wall -Wextra -fvisibility=hidden -fPIC -ffp-contract=off -iquote . -iquote $(B)/dsl -iquote $(B)/base -iquote $(B)/jit $(CUDA_FLAGS) $(CFLAGS)
flags += $(if $(WERROR),-Werror)
flags += $(if $(FAULTS),-DAKG_FAULT_INJECTION)
flags += $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer -DAKG_SANITIZED)
# What these two of the undefined ones look for, address finds where it happens; they take a third of the time to compile.
flags += $(if $(findstring address,$(SANITIZE)),-DARENA_EACH -fno-sanitize=null$(comma)object-size)
flags += $(if $(COVERAGE),--coverage -O0)
link_flags = $(filter -m% -O% -g% -fsanitize=% --coverage,$(flags)) -Wl,-z,relro -Wl,-z,now

# ---- sources -----------------------------------------------------------------------

# What needs the headers of CUDA, and what stands in for it.
cuda_sources := jit/nvrtc.c $(wildcard runtime/gpu_*.c)
without_cuda_sources := jit/without_nvrtc.c runtime/without_gpu.c
library_sources := $(filter-out $(if $(CUDA),$(without_cuda_sources),$(cuda_sources)), \
    $(wildcard base/*.c ir/*.c dsl/*.c jit/*.c runtime/*.c))
tool_sources := $(wildcard tools/*.c)
# UNITS="pool vector": these unit tests alone.
unit_sources := $(if $(UNITS),$(UNITS:%=tests/unit/test_%.c),$(wildcard tests/unit/test_*.c))
unit_support := $(filter-out tests/unit/test_%.c,$(wildcard tests/unit/*.c))
bench_sources := $(wildcard bench/*.c)
# Programs with a main of their own, what they share, and the targets: byte by byte (docs/testing.md).
fuzz_mains := $(addprefix tests/fuzz/,differential.c replay.c entry.c)
fuzz_targets := $(wildcard tests/fuzz/target_*.c)
fuzz_support := $(filter-out $(fuzz_mains) $(fuzz_targets),$(wildcard tests/fuzz/*.c)) tests/unit/certify.c
error_pages := $(sort $(wildcard docs/errors/*.md))
standard_files := $(sort $(wildcard stdlib/*.akg))

library_objects := $(patsubst %.c,$(B)/%.o,$(library_sources)) $(B)/dsl/lexer.o $(B)/dsl/parser.o
tool_objects := $(patsubst %.c,$(B)/%.o,$(tool_sources))
unit_programs := $(patsubst tests/unit/%.c,$(B)/tests/%,$(unit_sources))
fuzz_programs := $(B)/tests/differential $(B)/tests/replay
bench_programs := $(patsubst bench/%.c,$(B)/bench/%,$(bench_sources))

version := $(shell sed -n 's/^.define VERSION "\(.*\)"/\1/p' base/version.h)
soname = libakg.so.0

Q = $(if $(V),,@)
say = $(if $(V),,@printf '  %-8s %s\n' $(1) $(2))

.PHONY: all demo check check-nvrtc check-sanitize check-gpu fuzz fuzz-programs fuzz-long faults-long bench bench-operators bench-suite bench-gpu coverage coverage-report docs install install-files uninstall \
    clean distclean format format-check FORCE

all: $(B)/akgrun $(B)/libakg.a $(if $(SANITIZE)$(COVERAGE),,$(B)/libakg.so)

# ---- objects -------------------------------------------------------------------------

# What was built with which flags: a change of them builds anew. tests/run reads it too.
$(B)/settings: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' "CC='$(CC)'" "CFLAGS='$(flags)'" "LINK_FLAGS='$(link_flags)'" "LIBS='$(LIBS)'" \
	    "ISL='$(ISL)'" "CUDA='$(CUDA)'" "CUDA_FLAGS='$(CUDA_FLAGS)'" "LIBTCC='$(LIBTCC)'" "VERSION='$(version)'" >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(B)/%.o: %.c $(B)/settings
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(flags) -MMD -MP -c $< -o $@

$(B)/dsl/%.o: $(B)/dsl/%.c $(B)/settings
	$(call say,CC,$<)
	$(Q)$(CC) $(flags) -MMD -MP -c $< -o $@

$(B)/dsl/lexer.c $(B)/dsl/lexer.h &: dsl/lexer.l
	@mkdir -p $(@D)
	$(call say,FLEX,$<)
	$(Q)flex --header-file=$(B)/dsl/lexer.h -o $(B)/dsl/lexer.c $<

$(B)/dsl/parser.c $(B)/dsl/parser.h &: dsl/parser.y
	@mkdir -p $(@D)
	$(call say,BISON,$<)
	$(Q)bison -Wall -Werror --header=$(B)/dsl/parser.h -o $(B)/dsl/parser.c $<

# The pages that akgrun explain prints. The list of them counts too: a new or deleted page changes the folder's time.
$(B)/base/error_pages.inc: base/pages.awk $(error_pages) $(wildcard docs/errors)
	@mkdir -p $(@D)
	$(call say,AWK,$@)
	$(Q)awk -f $< $(error_pages) </dev/null >$@

$(B)/base/explain.o: $(B)/base/error_pages.inc

# The standard library's text. As above.
$(B)/dsl/standard_files.inc: dsl/standard.awk $(standard_files) $(wildcard stdlib)
	@mkdir -p $(@D)
	$(call say,AWK,$@)
	$(Q)awk -f $< $(standard_files) </dev/null >$@

$(B)/dsl/standard.o: $(B)/dsl/standard_files.inc

# What the library was made from, for the keys of its cache: another version's entries are not its own.
identity_sources := $(sort $(wildcard $(addsuffix /*.*,base ir dsl jit runtime stdlib include)))
$(B)/jit/build_identity.inc: $(identity_sources) $(LIBTCC) $(B)/settings
	@mkdir -p $(@D)
	$(call say,SHA256,$@)
	$(Q)cat $^ | sha256sum | sed 's/^\(.\{32\}\).*/"\1"/' >$@

$(B)/jit/cache_key.o: $(B)/jit/build_identity.inc

# The compilers that the optimising tier asks where AKG_CC does not say.
$(B)/jit/compiler.o: private flags += -DCONFIGURED_COMPILERS='"$(or $(CONFIGURED_COMPILERS),$(CONFIGURED_CC))"'

# The token numbers must be there before anything of dsl/ is first compiled; after that the .d files know.
$(filter $(B)/dsl/%,$(library_objects)): | $(B)/dsl/parser.h $(B)/dsl/lexer.h
$(patsubst %.c,$(B)/%.o,$(unit_sources) $(unit_support) $(bench_sources) $(wildcard tests/fuzz/*.c)): | $(B)/dsl/parser.h

-include $(patsubst %.o,%.d,$(library_objects) $(tool_objects)) $(wildcard $(B)/tests/unit/*.d $(B)/tests/faults/*.d $(B)/tests/cuda/*.d $(B)/tests/stdlib/*.d $(B)/tests/fuzz/*.d $(B)/bench/*.d)

# ---- libraries -----------------------------------------------------------------------

# Debian's libtcc.a is compiled for executables. What keeps it out of a shared library are
# its references to symbols that another library could replace; what keeps it out of a well-behaved one are
# its calls of exit, printf and mprotect. Both are renamed, one by one (several may get the same name), to
# functions and variables of jit/backend_tcc_host.c.
$(B)/libtcc.o: jit/libtcc_symbols.txt $(LIBTCC) $(B)/settings
	$(call say,RENAME,$(notdir $(LIBTCC)))
	$(Q)cp $(LIBTCC) $(B)/libtcc_renamed.a
	$(Q)while read -r old new; do \
	    objcopy --redefine-sym "$$old=$$new" $(B)/libtcc_renamed.a || exit; done <$<
	$(Q)ld -r --whole-archive $(B)/libtcc_renamed.a -o $@
	$(Q)rm -f $(B)/libtcc_renamed.a

$(B)/exports: include/akg.h
	@mkdir -p $(@D)
	$(Q)sed -n 's/^AKG_API [^(]*[ *]\([a-z0-9_]*\)(.*/\1/p' $< >$@

# One object in which every name but the public ones is local: nothing of ours or of libtcc's can
# collide with the program that links the library, static or shared.
$(B)/akg.o: $(library_objects) $(B)/libtcc.o $(B)/exports
	$(call say,LD,$@)
	$(Q)ld -r $(library_objects) $(B)/libtcc.o -o $(B)/akg_all.o
	$(Q)objcopy --keep-global-symbols=$(B)/exports $(B)/akg_all.o $@
	$(Q)rm -f $(B)/akg_all.o

$(B)/libakg.a: $(B)/akg.o
	$(call say,AR,$@)
	$(Q)rm -f $@
	$(Q)ar rcs $@ $<

$(B)/libakg.so: $(B)/akg.o
	$(call say,LINK,$@)
	$(Q)$(CC) -shared $(link_flags) -Wl,-soname,$(soname) -Wl,-z,defs -Wl,-z,text $< $(LIBS) -o $@
	$(Q)ln -sf $(notdir $@) $(B)/$(soname)

# The compiler that `bench --vs cc` takes where AKG_CC names none.
$(B)/tools/twin.o: private flags += -DCONFIGURED_CC='"$(CONFIGURED_CC)"'

# It exports the public functions, for the libraries of operators that --load opens.
$(B)/akgrun: $(tool_objects) $(B)/libakg.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(link_flags) -rdynamic $(tool_objects) $(B)/libakg.a $(LIBS) -o $@

# ---- tests -----------------------------------------------------------------------------

# Unit tests see every function, so they link the objects themselves.
$(B)/tests/%: $(B)/tests/unit/%.o $(patsubst %.c,$(B)/%.o,$(unit_support)) $(library_objects) $(B)/libtcc.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(link_flags) $(TEST_LINKER) $^ $(LIBS) -o $@

# The operators of the standard library, with akgrun's reader of values.
$(B)/tests/test_stdlib: $(patsubst %.c,$(B)/%.o,$(wildcard tests/stdlib/*.c)) \
    $(addprefix $(B)/tools/,arguments.o literal.o support.o value.o)

# What akgrun makes of measured times, and reads of reports.
$(B)/tests/test_statistics: $(patsubst %,$(B)/tools/%.o,statistics json support)

$(B)/tests/differential: $(patsubst %.c,$(B)/%.o,tests/fuzz/differential.c $(fuzz_support)) $(library_objects) $(B)/libtcc.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(link_flags) $(TEST_LINKER) $^ $(LIBS) -o $@

# akgrun's own reader of values is among the targets.
fuzz_objects = $(patsubst %.c,$(B)/%.o,$(fuzz_targets) $(fuzz_support) tests/unit/jit_pair.c) $(filter-out $(B)/tools/akgrun.o,$(tool_objects)) \
    $(library_objects) $(B)/libtcc.o

$(B)/tests/replay: $(B)/tests/fuzz/replay.o $(fuzz_objects)
	$(call say,LINK,$@)
	$(Q)$(CC) $(link_flags) $(TEST_LINKER) $^ $(LIBS) -o $@

$(B)/fuzz_%: tests/fuzz/entry.c $(fuzz_objects)
	$(call say,LINK,$@)
	$(Q)$(CC) $(flags) -DTARGET=target_$* -fsanitize=fuzzer $^ $(LIBS) -o $@

$(B)/tests/test_certificate: $(patsubst %.c,$(B)/%.o,$(wildcard tests/fuzz/generate*.c))

# akgrun's main as a function, and its calls of the C library through the test, which names them.
$(B)/tests/unit/akgrun_main.o: tools/akgrun.c $(B)/settings
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(flags) -Dmain=akgrun_main -MMD -MP -c $< -o $@

$(B)/tests/test_tools_faults: $(B)/tests/unit/akgrun_main.o $(filter-out $(B)/tools/akgrun.o,$(tool_objects))
$(B)/tests/test_tools_faults $(B)/tests/every_fault: private link_flags += $(shell sed -n \
    's/^WRAPPED.[^,]*, \([a-z_]*\),.*/-Wl,--wrap=\1/p' tests/faults/wrapped.def)

$(B)/tests/every_fault: $(B)/tests/faults/faults.o $(B)/tests/unit/akgrun_main.o $(filter-out $(B)/tools/akgrun.o,$(tool_objects)) \
    $(library_objects) $(B)/libtcc.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(link_flags) $(TEST_LINKER) $^ $(LIBS) -o $@

# Many commands of akgrun in one process, on the CPU and on a device.
$(B)/tests/pairs: $(B)/tests/cuda/pairs.o $(B)/tests/unit/akgrun_main.o $(filter-out $(B)/tools/akgrun.o,$(tool_objects)) \
    $(library_objects) $(B)/libtcc.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(link_flags) $(TEST_LINKER) $^ $(LIBS) -o $@

# Compares with isl where configure found it, and says that it does not elsewhere.
$(B)/tests/unit/test_dependence_isl.o: private flags += $(if $(ISL),-DHAVE_ISL)
$(B)/tests/test_dependence_isl: private LIBS += $(ISL)

# Libraries that stand in for NVIDIA's: kernels run on the CPU, failures come when they are asked for. What uses them finds
# them in the folder of the unit tests; without the headers of CUDA it says what it skips.
stubs := $(if $(CUDA),$(addprefix $(B)/tests/,libcuda_stub.so libnvrtc_stub.so))
# As for libakg.so, all names but those of the driver become local.
$(B)/tests/libcuda_stub.so: $(patsubst %.c,$(B)/%.o,$(filter-out %/stub_nvrtc.c,$(wildcard tests/cuda/stub_*.c tests/cuda/shim*.c))) $(library_objects) \
    $(B)/libtcc.o
	$(call say,LINK,$@)
	$(Q)ld -r $^ -o $(@:.so=.o)
	$(Q)objcopy --wildcard --keep-global-symbol='cu[A-Z]*' --keep-global-symbol='stub_*' $(@:.so=.o)
	$(Q)$(CC) -shared $(link_flags) $(@:.so=.o) $(LIBS) -o $@
	$(Q)rm -f $(@:.so=.o)

$(B)/tests/libnvrtc_stub.so: $(B)/tests/cuda/stub_nvrtc.o
	$(call say,LINK,$@)
	$(Q)$(CC) -shared $(link_flags) $^ -o $@

$(B)/tests/unit/test_gpu.o $(B)/tests/unit/test_gpu_call.o $(B)/tests/unit/test_recorded_device.o: private flags += $(if $(CUDA),-DHAVE_CUDA)
$(B)/tests/test_gpu $(B)/tests/test_gpu_call $(B)/tests/test_recorded_device: | $(stubs)

# The table of the library's operators, as the tests read it, measured as akgrun measures.
$(B)/bench/operators: $(B)/tests/stdlib/trial.o \
    $(addprefix $(B)/tools/,arguments.o literal.o support.o value.o measure.o statistics.o)

bench-operators: $(B)/bench/operators
	AKG_CACHE=off $<

$(B)/bench/gpu.o: private flags += $(if $(CUDA),-DHAVE_CUDA)
# Emitted CUDA run on the CPU.
$(B)/tests/test_cuda $(B)/tests/test_cuda_tile $(B)/tests/test_cuda_cross: $(addprefix $(B)/tests/cuda/,shim.o shim_threads.o shim_moves.o emulate.o)

$(B)/bench/%: $(B)/bench/%.o $(library_objects) $(B)/libtcc.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(link_flags) $(TEST_LINKER) $^ $(LIBS) -o $@

.PRECIOUS: $(B)/tests/unit/%.o $(B)/bench/%.o

demo: $(B)/akgrun
	@set -fe; for call in 'square x=[1,4,9]' 'square_grad x=[1,4,9] dout=[1,1,1]'; do \
	    echo "$$ $(B)/akgrun run examples/square.akg $$call"; \
	    $(B)/akgrun run examples/square.akg $$call; done

check: all $(unit_programs) $(if $(UNITS),,$(fuzz_programs) $(B)/tests/pairs) $(stubs) $(if $(SANITIZE)$(FILTER)$(UNITS),,$(bench_programs))
	@BUILD=$(B) UNITS="$(UNITS)" sh tests/run "$(FILTER)"

# Every kernel of the tests, the examples, the standard library and the suite as CUDA for three architectures, optimised as for a
# call, which `make check` leaves out; needs NVRTC, no GPU.
check-nvrtc: $(B)/tests/test_cuda_compile
	$< optimised

check-sanitize:
	$(MAKE) check SANITIZE=address,undefined
	$(MAKE) check SANITIZE=thread

# libFuzzer programs, one per target: build/.../fuzz_parse -max_total_time=60 tests/fuzz/corpus/parse
fuzz:
	$(MAKE) CC=clang SANITIZE=fuzzer-no-link,address,undefined fuzz-programs

fuzz-programs: $(patsubst tests/fuzz/target_%.c,$(B)/fuzz_%,$(fuzz_targets))

# Hours, not seconds. What it finds it prints, cut down; how far it is stands in $(B)/fuzz-long.log, whose last line says
# with what it goes on: make fuzz-long FROM=1057000 COUNT=143000 (COUNT=0: none of that kind). CERTIFY=8: only the
# certificates of every eighth program are put to the test, which takes most of the time.
FROM = 1000000
COUNT = 200000
MUTANTS_FROM = 1000000
MUTANTS = 100000
CERTIFY = 1
fuzz-long: $(B)/tests/differential
	@echo 'progress: $(B)/fuzz-long.log'
	date >>$(B)/fuzz-long.log
	$< --certify $(CERTIFY) generate $(FROM) $(COUNT) 2>>$(B)/fuzz-long.log
	$< --certify $(CERTIFY) mutate $(MUTANTS_FROM) $(MUTANTS) 2>>$(B)/fuzz-long.log

# Commands of akgrun over all programs of the tests, with failures in each call that leads to one; hours, with
# SANITIZE=address,undefined, which it needs. FAULTS_OPTIONS="-s 0.1 -t 600": ten minutes of the quick ones (tests/faults/faults.c).
FAULTS_OPTIONS =
faults-long: $(B)/tests/every_fault
	@rm -rf $(B)/faults && mkdir -p $(B)/faults
	@cd $(B)/faults && sh $(CURDIR)/tests/faults/commands $(CURDIR) >commands && ulimit -s 65536 && \
	    AKG_CACHE=off NO_COLOR=1 ASAN_OPTIONS=malloc_context_size=8 $$(setarch -R true && echo setarch -R) \
	    $(abspath $(B))/tests/every_fault $(FAULTS_OPTIONS) commands

# On a machine with a GPU: every operator, gradient, example and recorded graph there against the CPU, and more
# (tests/cuda/check-gpu); and times. Both say so where there is no GPU.
check-gpu: all $(addprefix $(B)/tests/,test_stdlib test_recorded_device pairs)
	@BUILD=$(B) sh tests/cuda/check-gpu

bench-gpu: $(B)/bench/gpu $(B)/akgrun
	@$<
	@echo '== the suite'; BUILD=$(B) sh bench/suite/device

bench: $(bench_programs) $(B)/bench/blas $(B)/akgrun
	@for program in $(bench_programs); do echo "== $$program"; AKG_CACHE=off $$program || exit; done
	@echo '== the suite'; BUILD=$(B) sh bench/suite/run

# OpenBLAS on the suite's products, measured as akgrun measures.
$(B)/bench/blas: $(patsubst %,$(B)/%.o,bench/suite/blas tools/measure tools/statistics tools/support) $(B)/libakg.a
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(link_flags) $(TEST_LINKER) $^ $(LIBS) -o $@

bench-suite: $(B)/bench/blas $(B)/akgrun
	BUILD=$(B) sh bench/suite/run

# Lines that the tests execute, file by file, and the total of dsl/ and the analyses. gcc only; with injected failures, so
# that the lines behind them count.
coverage:
	$(MAKE) CC=gcc COVERAGE=1 FAULTS=1 coverage-report

coverage-report: all $(unit_programs) $(fuzz_programs) $(B)/tests/pairs $(stubs)
	@find $(B) -name '*.gcda' -delete
	@BUILD=$(B) sh tests/run >$(B)/tests.log; tail -n 1 $(B)/tests.log
	@gcov -n $(patsubst %.o,%.gcda,$(library_objects) $(tool_objects)) 2>/dev/null | awk -f tests/coverage.awk

# ---- installation --------------------------------------------------------------------------

shared = $(DESTDIR)$(LIBDIR)/libakg.so.$(version)

install: all
	@$(MAKE) --no-print-directory install-files

# What is built, as it is.
install-files:
	mkdir -p $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(MANDIR)/man1
	install -m 755 $(B)/akgrun $(DESTDIR)$(BINDIR)/akgrun
	install -m 644 $(B)/libakg.a $(DESTDIR)$(LIBDIR)/libakg.a
	install -m 755 $(B)/libakg.so $(shared)
	ln -sf $(notdir $(shared)) $(DESTDIR)$(LIBDIR)/$(soname)
	ln -sf $(soname) $(DESTDIR)$(LIBDIR)/libakg.so
	printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR)' 'includedir=$(INCLUDEDIR)' '' 'Name: akg' \
	    'Description: JIT compiler for tensor kernels' 'Version: $(version)' 'Cflags: -I$${includedir}' \
	    'Libs: -L$${libdir} -lakg' 'Libs.private: $(LIBS)' >$(DESTDIR)$(LIBDIR)/pkgconfig/akg.pc
	install -m 644 include/akg.h $(DESTDIR)$(INCLUDEDIR)/akg.h
	install -m 644 docs/akgrun.1 $(DESTDIR)$(MANDIR)/man1/akgrun.1

uninstall:
	rm -f $(DESTDIR)$(BINDIR)/akgrun $(DESTDIR)$(LIBDIR)/libakg.a $(shared) $(DESTDIR)$(LIBDIR)/$(soname) \
	    $(DESTDIR)$(LIBDIR)/libakg.so $(DESTDIR)$(LIBDIR)/pkgconfig/akg.pc $(DESTDIR)$(INCLUDEDIR)/akg.h \
	    $(DESTDIR)$(MANDIR)/man1/akgrun.1

# ---- upkeep ------------------------------------------------------------------------------------

formatted = $(wildcard $(addsuffix /*.[ch],base ir dsl jit runtime tools include tests/unit tests/faults tests/cuda tests/fuzz tests/packaging bench bench/suite examples examples/myrelu))

# What is generated and committed; tests/packaging/messages.sh compares.
docs:
	awk -f docs/errors.awk base/messages.def $(error_pages) >docs/errors.md
	awk -f docs/stdlib.awk tests/stdlib/operators.def $(standard_files) >docs/stdlib.md

format:
	clang-format -i $(formatted)

format-check:
	clang-format --dry-run -Werror $(formatted)

clean:
	rm -rf build

distclean: clean
	rm -f config.mk
