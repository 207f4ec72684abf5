/*
 * gpu_graph.c: runs of instances as a graph of CUDA: many launches for the price of one.
 *
 * Consumes what gpu_run consumes, call after call. Nodes are in a row, each behind the one before, as on a
 * stream. The graph is made by hand rather than captured from the stream, which other threads use as well.
 * Temporaries of the kernels belong to the graph as long as it is there.
 */
#include "gpu_private.h"

#include <stdio.h>
#include <string.h>

/* What one run or fill has put into it. */
struct graph_part {
    struct graph_part *next;
    struct gpu_block **blocks; /* of the temporaries, and room for a trap */
    void **temporaries;
    int block_count;
    uint64_t *words; /* of the kernels; of a fill: address, pattern, size, count */
    int word_count;
    CUgraphNode *nodes; /* per launch; NULL where there is nothing to do */
};

struct gpu_graph {
    struct gpu_device *device;
    CUgraph graph;
    CUgraphExec made;         /* NULL until the first launch */
    CUgraphNode last;         /* in the row */
    struct graph_part *first; /* the parts, in order */
    struct graph_part **at;   /* where the next run belongs */
};

enum { FILL_TO, FILL_PATTERN, FILL_SIZE, FILL_COUNT, FILL_WORDS };

/* ---- graphs and parts -----------------------------------------------------------------------------------
 */

struct gpu_graph *gpu_graph_new(struct gpu_device *device)
{
    const struct gpu_driver *driver = device->driver;
    struct gpu_graph *graph;

    if (!driver->cuGraphCreate || !driver->cuGraphAddKernelNode || !driver->cuGraphAddMemsetNode ||
        !driver->cuGraphInstantiateWithFlags || !driver->cuGraphExecKernelNodeSetParams ||
        !driver->cuGraphExecMemsetNodeSetParams || !driver->cuGraphLaunch || !driver->cuGraphExecDestroy ||
        !driver->cuGraphDestroy)
        return NULL;
    graph = memory_zeroed(1, sizeof *graph);
    if (graph) {
        graph->device = device;
        graph->at = &graph->first;
    }
    return graph;
}

static void part_free(struct graph_part *part)
{
    for (int k = 0; k < part->block_count; k++)
        if (part->blocks[k])
            gpu_free(part->blocks[k]);
    memory_free(part);
}

/* A graph that the device still works on lives on in the driver until that is done. */
void gpu_graph_empty(struct gpu_graph *graph)
{
    if (graph->made) /* neither needs the device to be current, or alive */
        graph->device->driver->cuGraphExecDestroy(graph->made);
    if (graph->graph)
        graph->device->driver->cuGraphDestroy(graph->graph);
    while (graph->first) {
        struct graph_part *next = graph->first->next;
        part_free(graph->first);
        graph->first = next;
    }
    *graph = (struct gpu_graph){.device = graph->device, .at = &graph->first};
}

void gpu_graph_free(struct gpu_graph *graph)
{
    if (!graph)
        return;
    gpu_graph_empty(graph);
    memory_free(graph);
}

/* In one piece. */
static struct graph_part *part_new(int blocks, int words, int nodes, struct gpu_failure *failure)
{
    size_t pointers = (size_t)(2 * blocks + words + nodes);
    struct graph_part *part = memory_zeroed(1, sizeof *part + 8 * pointers);

    if (!part) {
        *failure = (struct gpu_failure){.status = AKG_ERROR_MEMORY, .message = MSG_MEMORY};
        return NULL;
    }
    part->blocks = (struct gpu_block **)(void *)(part + 1);
    part->temporaries = (void **)(void *)(part->blocks + blocks);
    part->words = (uint64_t *)(void *)(part->temporaries + blocks);
    part->nodes = (CUgraphNode *)(void *)(part->words + words);
    part->block_count = blocks;
    part->word_count = words;
    return part;
}

/* ---- nodes ----------------------------------------------------------------------------------------------
 */

/* Makes the graph, where there is none yet, and makes the device current. */
static bool begin_nodes(struct gpu_graph *graph, struct gpu_failure *failure)
{
    if (!gpu_enter(graph->device, failure))
        return false;
    if (graph->graph)
        return true;
    CUresult result = graph->device->driver->cuGraphCreate(&graph->graph, 0);
    if (gpu_check(graph->device, result, "make a graph", failure) == AKG_OK)
        return true;
    graph->graph = NULL;
    gpu_leave(graph->device);
    return false;
}

static CUresult set_kernel(struct gpu_graph *graph, CUgraphNode *node,
                           const CUDA_KERNEL_NODE_PARAMS *parameters)
{
    const struct gpu_driver *driver = graph->device->driver;
    CUresult result;

    if (*node)
        return driver->cuGraphExecKernelNodeSetParams(graph->made, *node, parameters);
    result = driver->cuGraphAddKernelNode(node, graph->graph, &graph->last, graph->last != NULL, parameters);
    if (result == CUDA_SUCCESS)
        graph->last = *node;
    return result;
}

/* The launches of a part with the words of a run. */
static akg_status set_launches(struct gpu_graph *graph, const struct gpu_code *code, struct graph_part *part,
                               const struct gpu_running *run, const char *name)
{
    void *words[] = {part->words};
    CUresult result = CUDA_SUCCESS;
    char what[96];

    if (!begin_nodes(graph, run->failure))
        return run->failure->status;
    for (int k = 0; k < run->program->launches.count && result == CUDA_SUCCESS; k++) {
        const struct cuda_launch *launch = &run->program->launches.items[k];
        CUDA_KERNEL_NODE_PARAMS parameters = {.func = gpu_code_function(code, k),
                                              .gridDimX = run->grids[k],
                                              .gridDimY = 1,
                                              .gridDimZ = 1,
                                              .blockDimX = (unsigned)launch->threads,
                                              .blockDimY = 1,
                                              .blockDimZ = 1,
                                              .sharedMemBytes = (unsigned)launch->shared,
                                              .kernelParams = words};
        if (parameters.gridDimX)
            result = set_kernel(graph, &part->nodes[k], &parameters);
    }
    akg_status status = AKG_OK;
    if (result != CUDA_SUCCESS) {
        snprintf(what, sizeof what, "put '%.60s' into a graph", name);
        status = gpu_check(graph->device, result, what, run->failure);
    }
    gpu_leave(graph->device);
    return status;
}

static akg_status set_fill(struct gpu_graph *graph, struct graph_part *part, struct gpu_failure *failure)
{
    const struct gpu_driver *driver = graph->device->driver;
    CUDA_MEMSET_NODE_PARAMS parameters = {.dst = (CUdeviceptr)part->words[FILL_TO],
                                          .value = (unsigned)part->words[FILL_PATTERN],
                                          .elementSize = (unsigned)part->words[FILL_SIZE],
                                          .width = (size_t)part->words[FILL_COUNT],
                                          .height = 1};
    CUresult result;

    if (!begin_nodes(graph, failure))
        return failure->status;
    if (part->nodes[0]) {
        result = driver->cuGraphExecMemsetNodeSetParams(graph->made, part->nodes[0], &parameters,
                                                        graph->device->context);
    } else {
        result = driver->cuGraphAddMemsetNode(&part->nodes[0], graph->graph, &graph->last,
                                              graph->last != NULL, &parameters, graph->device->context);
        if (result == CUDA_SUCCESS)
            graph->last = part->nodes[0];
    }
    akg_status status = gpu_check(graph->device, result, "put a fill into a graph", failure);
    gpu_leave(graph->device);
    return status;
}

/* ---- runs ------------------------------------------------------------------------------------------------
 */

bool gpu_graph_takes(const struct jit_instance *instance)
{
    return instance->program && !instance->program->traps && instance->program->rounds.count == 0;
}

bool gpu_graph_takes_fill(uint64_t pattern, int size)
{
    return size < 8 || pattern >> 32 == (uint32_t)pattern;
}

/* The part of a run, with its temporaries. */
static akg_status take_part(struct gpu_graph *graph, struct gpu_running *run)
{
    struct graph_part *part = *graph->at;
    int blocks = run->program->temporaries.count + 1;
    akg_status status = AKG_OK;

    if (!part) {
        part = *graph->at =
            part_new(blocks, run->program->words.count, run->program->launches.count, run->failure);
        if (!part)
            return AKG_ERROR_MEMORY;
        status = gpu_running_temporaries(run);
        memcpy(part->blocks, run->blocks, sizeof *run->blocks * (size_t)blocks);
        memcpy(part->temporaries, run->temporaries, sizeof *run->temporaries * (size_t)(blocks - 1));
    } else {
        memcpy(run->temporaries, part->temporaries, sizeof *run->temporaries * (size_t)(blocks - 1));
    }
    memset(run->blocks, 0, sizeof *run->blocks * (size_t)blocks); /* they are the part's */
    return status;
}

static akg_status put_down(struct gpu_graph *graph, struct gpu_code *code,
                           const struct jit_instance *instance, struct gpu_running *run, bool *lacks)
{
    bool is_new = !*graph->at;

    *lacks = is_new && !gpu_running_grids(run, code);
    if (*lacks)
        return AKG_OK;
    akg_status status = take_part(graph, run);
    struct graph_part *part = *graph->at;
    if (status != AKG_OK)
        return status;
    size_t bytes = sizeof *part->words * (size_t)part->word_count;
    gpu_running_words(run);
    if (is_new || memcmp(part->words, run->words, bytes) != 0) {
        *lacks = !is_new && !gpu_running_grids(run, code); /* they hang on what is among the words */
        if (*lacks)
            return AKG_OK;
        memcpy(part->words, run->words, bytes);
        status = set_launches(graph, code, part, run, instance->kernel->name);
    }
    graph->at = &part->next;
    return status;
}

akg_status gpu_graph_run(struct gpu_graph *graph, struct gpu_code *code, const struct jit_instance *instance,
                         const struct jit_frame *frame, bool *lacks, struct gpu_failure *failure)
{
    struct gpu_running run; /* large: what is in it is set when it is needed */
    akg_status status;

    run.device = graph->device;
    run.program = instance->program;
    run.frame = frame;
    run.failure = failure;
    status = gpu_running_begin(&run);
    if (status == AKG_OK) {
        status = put_down(graph, code, instance, &run, lacks);
        gpu_running_end(&run);
    }
    if (status != AKG_OK)
        gpu_graph_empty(graph);
    return status;
}

akg_status gpu_graph_fill(struct gpu_graph *graph, void *to, uint64_t pattern, int size, int64_t count,
                          struct gpu_failure *failure)
{
    const uint64_t words[FILL_WORDS] = {(uint64_t)(uintptr_t)to, (uint32_t)pattern,
                                        size == 8 ? 4 : (uint64_t)size,
                                        size == 8 ? 2 * (uint64_t)count : (uint64_t)count};
    struct graph_part *part = *graph->at;
    akg_status status = AKG_OK;

    if (count == 0)
        return AKG_OK;
    if (!part)
        part = *graph->at = part_new(0, FILL_WORDS, 1, failure);
    if (!part)
        status = AKG_ERROR_MEMORY;
    else if (memcmp(part->words, words, sizeof words) != 0) {
        memcpy(part->words, words, sizeof words);
        status = set_fill(graph, part, failure);
    }
    if (status == AKG_OK)
        graph->at = &part->next;
    else
        gpu_graph_empty(graph);
    return status;
}

akg_status gpu_graph_launch(struct gpu_graph *graph, struct gpu_failure *failure)
{
    const struct gpu_driver *driver = graph->device->driver;
    CUresult result = CUDA_SUCCESS;
    akg_status status;

    graph->at = &graph->first;
    if (!graph->graph || !graph->last)
        return AKG_OK; /* nothing was to be done */
    if (!gpu_enter(graph->device, failure))
        return failure->status;
    if (!graph->made)
        result = driver->cuGraphInstantiateWithFlags(&graph->made, graph->graph, 0);
    if (result == CUDA_SUCCESS)
        result = driver->cuGraphLaunch(graph->made, graph->device->stream);
    status = gpu_check(graph->device, result, "launch a graph", failure);
    gpu_leave(graph->device);
    if (status != AKG_OK)
        gpu_graph_empty(graph);
    return status;
}
