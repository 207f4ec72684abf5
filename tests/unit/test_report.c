/*
 * test_report.c: akg_kernel_report_detail: its contract, JSON of every kernel of the tests, reports from
 * several threads at once, and each allocation failing in turn. What the reports say is tested in
 * tests/cli/proof.sh; whether it is true, in test_certificate.c.
 */
#include "../../base/memory.h"
#include "api_support.h"
#include "check.h"

#include <glob.h>
#include <pthread.h>
#include <stdlib.h>

static const char *const program = "def sums(x: T[N, M], index: int32[K], scale=2):\n"
                                   "    y = output_tensor((K, M + 1), x.dtype)\n"
                                   "    t = allocate((M,), x.dtype)\n"
                                   "    for k in range(K):\n"
                                   "        y[k, 0] = x[index[k], 0]\n"
                                   "        for j in range(1, M):\n"
                                   "            t[j] = t[j - 1] + x[index[k], j] * scale\n"
                                   "            y[k, j] = y[k, j - 1] + t[j]\n"
                                   "    return y\n";

static void test_contract(akg_kernel *kernel)
{
    char *text = (char *)1, *report = NULL;

    CHECK_INT(akg_kernel_report_detail(NULL, AKG_FORMAT_TEXT, AKG_DETAIL_PROOF, &text), AKG_ERROR_USAGE);
    CHECK(text == NULL);
    CHECK_INT(akg_kernel_report_detail(kernel, AKG_FORMAT_TEXT, AKG_DETAIL_PROOF, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_kernel_report_detail(kernel, AKG_FORMAT_SARIF, AKG_DETAIL_PROOF, &text), AKG_ERROR_USAGE);
    CHECK_INT(akg_kernel_report_detail(kernel, AKG_FORMAT_TEXT, (akg_detail)3, &text), AKG_ERROR_USAGE);
    CHECK_INT(akg_kernel_report_detail(kernel, AKG_FORMAT_TEXT, AKG_DETAIL_SIGNATURE, &text), AKG_OK);
    CHECK_INT(akg_kernel_report(kernel, AKG_FORMAT_TEXT, &report), AKG_OK);
    CHECK_STRING(text, report);
    akg_free(text);
    /* the others begin with it */
    CHECK_INT(akg_kernel_report_detail(kernel, AKG_FORMAT_TEXT, AKG_DETAIL_SUMMARY, &text), AKG_OK);
    CHECK(text && report && strncmp(text, report, strlen(report)) == 0 && strlen(text) > strlen(report));
    akg_free(text);
    CHECK_INT(akg_kernel_report_detail(kernel, AKG_FORMAT_TEXT, AKG_DETAIL_PROOF, &text), AKG_OK);
    CHECK(text && report && strncmp(text, report, strlen(report)) == 0);
    CHECK(text && strstr(text, "initialisation\n") && strstr(text, "loops\n"));
    akg_free(text);
    akg_free(report);
}

static void test_json_of_all(void)
{
    glob_t files;
    size_t kernels = 0, certified = 0;

    if (!CHECK(glob("tests/kernels/*.akg", 0, NULL, &files) == 0))
        return;
    for (size_t k = 0; k < files.gl_pathc; k++) {
        jit_source source = {.name = files.gl_pathv[k]};
        akg_module *module = NULL;
        CHECK_INT(jit_compile(&source, NULL, &module, NULL), AKG_OK);
        for (size_t i = 0; i < akg_module_kernel_count(module); i++, kernels++) {
            char *text = NULL;
            CHECK_INT(akg_kernel_report_detail(akg_module_kernel_at(module, i), AKG_FORMAT_JSON,
                                               AKG_DETAIL_PROOF, &text),
                      AKG_OK);
            CHECK(text && api_is_json(text));
            certified += text && strstr(text, "\"certificate\": {\"bounds\": [") != NULL;
            CHECK(text && (strstr(text, "\"certificate\": ") || strstr(text, "\"graph\": true")));
            akg_free(text);
        }
        akg_module_release(module);
    }
    CHECK(kernels > 50 && certified + 50 > kernels); /* the others hang on what a call says */
    globfree(&files);
}

struct reporter {
    pthread_t thread;
    akg_kernel *kernel;
    char *text;
};

static void *report(void *context)
{
    struct reporter *reporter = context;

    akg_kernel_report_detail(reporter->kernel, AKG_FORMAT_JSON, AKG_DETAIL_PROOF, &reporter->text);
    return NULL;
}

static void test_threads(akg_kernel *kernel)
{
    struct reporter reporters[4];

    for (int k = 0; k < 4; k++) {
        reporters[k] = (struct reporter){.kernel = kernel};
        CHECK(pthread_create(&reporters[k].thread, NULL, report, &reporters[k]) == 0);
    }
    for (int k = 0; k < 4; k++) {
        pthread_join(reporters[k].thread, NULL);
        CHECK_STRING(reporters[k].text, reporters[0].text);
    }
    for (int k = 0; k < 4; k++)
        akg_free(reporters[k].text);
}

#ifdef AKG_FAULT_INJECTION
/* Every allocation in turn. */
static void test_faults(akg_kernel *kernel, akg_format format)
{
    char *whole = NULL, *text;
    long count = 0;

    CHECK_INT(akg_kernel_report_detail(kernel, format, AKG_DETAIL_PROOF, &whole), AKG_OK);
    for (;;) {
        memory_fail_after(count);
        akg_status status = akg_kernel_report_detail(kernel, format, AKG_DETAIL_PROOF, &text);
        bool failed = memory_fail_remaining() < 0;
        memory_fail_after(-1);
        if (failed)
            CHECK(status == AKG_ERROR_MEMORY && text == NULL);
        else
            CHECK_STRING(text, whole);
        akg_free(text);
        if (!failed)
            break;
        count++;
    }
    CHECK(count > 0);
    akg_free(whole);
}
#else
#define test_faults(kernel, format) ((void)(kernel))
#endif

int main(void)
{
    akg_module *module = api_compile(program);
    akg_kernel *kernel = akg_module_kernel(module, "sums");

    if (CHECK(kernel != NULL)) {
        test_threads(kernel);
        if (!check_is_of_threads()) {
            test_contract(kernel);
            test_faults(kernel, AKG_FORMAT_TEXT);
            test_faults(kernel, AKG_FORMAT_JSON);
        }
    }
    akg_module_release(module);
    if (!check_is_of_threads())
        test_json_of_all();
    return check_done();
}
