/*
 * stub_graph.c: CUDA graphs of the stub of libcuda: kernels and fills in a row. What a node does is copied
 * when it is added, once more when the graph is instantiated, and when it is told new parameters, as by the
 * driver.
 */
#include "stub_private.h"

#include <stdlib.h>
#include <string.h>

struct CUgraphNode_st {
    bool is_fill;
    CUDA_KERNEL_NODE_PARAMS kernel; /* parameters: `words` */
    CUDA_MEMSET_NODE_PARAMS fill;
    char *words;
    int number;
    struct CUgraphNode_st *before, *next;
};

struct CUgraph_st {
    struct CUgraphNode_st *first, *last;
    int count;
};

/* Copies of the nodes, in order. */
struct CUgraphExec_st {
    struct CUgraphNode_st *nodes;
    int count;
};

static void keep_kernel(struct CUgraphNode_st *node, const CUDA_KERNEL_NODE_PARAMS *kernel)
{
    size_t bytes = stub_function_parameter((struct stub_function *)kernel->func);

    free(node->words);
    node->kernel = *kernel;
    node->words = malloc(bytes + 1);
    memcpy(node->words, kernel->kernelParams[0], bytes);
}

/* Nodes have to come in a row, which is how the library makes them. */
static struct CUgraphNode_st *add_node(CUgraph graph, const CUgraphNode *before, size_t count)
{
    struct CUgraphNode_st *node;

    if (count != (graph->last != NULL) || (count && *before != graph->last))
        return NULL;
    node = calloc(1, sizeof *node);
    node->number = graph->count++;
    *(graph->last ? &graph->last->next : &graph->first) = node;
    graph->last = node;
    return node;
}

static CUresult create(CUgraph *graph, unsigned flags)
{
    CUresult begun = stub_begin("cuGraphCreate");

    if (begun == CUDA_SUCCESS && flags)
        begun = CUDA_ERROR_INVALID_VALUE;
    if (begun == CUDA_SUCCESS)
        *graph = calloc(1, sizeof **graph);
    return stub_end(begun);
}

API_OF_NEWER_DRIVERS(cuGraphCreate, create);

API CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                  const CUDA_KERNEL_NODE_PARAMS *kernel)
{
    BEGIN;
    if (!(*node = add_node(graph, before, count)))
        return stub_end(CUDA_ERROR_INVALID_VALUE);
    keep_kernel(*node, kernel);
    END;
}

API CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                  const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext context)
{
    (void)context;
    BEGIN;
    if (!(*node = add_node(graph, before, count)))
        return stub_end(CUDA_ERROR_INVALID_VALUE);
    (*node)->is_fill = true;
    (*node)->fill = *fill;
    END;
}

API CUresult cuGraphInstantiateWithFlags(CUgraphExec *made, CUgraph graph, unsigned long long flags)
{
    BEGIN;
    if (flags)
        return stub_end(CUDA_ERROR_INVALID_VALUE);
    *made = calloc(1, sizeof **made);
    (*made)->nodes = calloc((size_t)graph->count + 1, sizeof *(*made)->nodes);
    for (struct CUgraphNode_st *node = graph->first; node; node = node->next) {
        struct CUgraphNode_st *copy = &(*made)->nodes[(*made)->count++];
        *copy = *node;
        copy->words = NULL;
        if (!node->is_fill)
            keep_kernel(copy, &(CUDA_KERNEL_NODE_PARAMS){.func = node->kernel.func,
                                                         .gridDimX = node->kernel.gridDimX,
                                                         .gridDimY = node->kernel.gridDimY,
                                                         .gridDimZ = node->kernel.gridDimZ,
                                                         .blockDimX = node->kernel.blockDimX,
                                                         .blockDimY = node->kernel.blockDimY,
                                                         .blockDimZ = node->kernel.blockDimZ,
                                                         .kernelParams = (void *[]){node->words}});
    }
    END;
}

API CUresult cuGraphExecKernelNodeSetParams(CUgraphExec made, CUgraphNode node,
                                            const CUDA_KERNEL_NODE_PARAMS *kernel)
{
    BEGIN;
    if (!made || node->is_fill || node->kernel.func != kernel->func)
        return stub_end(CUDA_ERROR_INVALID_VALUE);
    stub.updates++;
    keep_kernel(&made->nodes[node->number], kernel);
    END;
}

API CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec made, CUgraphNode node,
                                            const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext context)
{
    (void)context;
    BEGIN;
    if (!made || !node->is_fill)
        return stub_end(CUDA_ERROR_INVALID_VALUE);
    stub.updates++;
    made->nodes[node->number].fill = *fill;
    END;
}

static CUresult run_fill(const CUDA_MEMSET_NODE_PARAMS *fill)
{
    char *to = stub_reach(fill->dst, fill->width * fill->elementSize);

    if (!to || fill->height != 1)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < fill->width; k++)
        memcpy(to + k * fill->elementSize, &fill->value, fill->elementSize);
    return CUDA_SUCCESS;
}

API CUresult cuGraphLaunch(CUgraphExec made, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;

    (void)stream;
    BEGIN;
    stub.graphs++;
    for (int k = 0; k < made->count && result == CUDA_SUCCESS; k++) {
        struct CUgraphNode_st *node = &made->nodes[k];
        CUDA_KERNEL_NODE_PARAMS kernel = node->kernel;
        void *words[] = {node->words};
        kernel.kernelParams = words;
        if (node->is_fill)
            result = run_fill(&node->fill);
        else if (stub.sticky[stub_current] == CUDA_SUCCESS)
            result = stub_run_kernel(&kernel);
    }
    return stub_end(result);
}

API CUresult cuGraphExecDestroy(CUgraphExec made)
{
    pthread_mutex_lock(&stub.lock); /* also of a device that is lost */
    for (int k = 0; k < made->count; k++)
        free(made->nodes[k].words);
    free(made->nodes);
    free(made);
    END;
}

API CUresult cuGraphDestroy(CUgraph graph)
{
    pthread_mutex_lock(&stub.lock);
    for (struct CUgraphNode_st *node = graph->first, *next; node; node = next) {
        next = node->next;
        free(node->words);
        free(node);
    }
    free(graph);
    END;
}
