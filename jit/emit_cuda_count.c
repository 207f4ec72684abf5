/*
 * emit_cuda_count.c: accumulating into few elements, as a histogram does.
 *
 * Consumes a nest whose iterations add to elements atomically (cuda_plan.h), all of one tensor. Where a call
 * has no more elements of it than fit, each block accumulates into a copy in shared memory, and adds that to
 * the tensor at the end: many threads that want the same few elements wait for those of their block only.
 */
#include "emit_cuda_private.h"

enum { COUNTED = 2048 /* elements of a copy */ };

struct counted {
    const struct cuda_emitter *cuda;
    const struct ir_stmt *store; /* one of them; NULL: there is none */
    struct cuda_add add;
    bool fails;
};

static bool note_atomic(struct ir_stmt *stmt, void *context)
{
    struct counted *counted = context;
    const struct cuda_emitter *cuda = counted->cuda;
    struct cuda_add add;
    if (stmt->kind != IR_STORE || !cuda_is_atomic(&cuda->plan, &cuda->step->chain, stmt))
        return true;
    if (!cuda_add_of(stmt, &add) || !stmt->access.buffer->contiguous ||
        cuda->plan.lives[stmt->access.buffer->index] != CUDA_LIFE_CALL ||
        (counted->store &&
         (counted->store->access.buffer != stmt->access.buffer || counted->add.operation != add.operation)))
        counted->fails = true;
    counted->store = stmt;
    counted->add = add;
    return true;
}

static bool find(const struct cuda_emitter *cuda, struct counted *counted)
{
    *counted = (struct counted){.cuda = cuda};
    ir_block_walk((struct ir_stmt *)cuda_chain_body(&cuda->step->chain), note_atomic, counted);
    return counted->store && !counted->fails;
}

bool emit_cuda_counts(const struct cuda_emitter *cuda)
{
    struct counted counted;
    return cuda->step->adds && find(cuda, &counted);
}

static void emit_elements(struct emitter *emitter)
{
    emit_line(emitter, "for (long long k_ = threadIdx.x; is_counted_ && k_ < elements_; k_ += blockDim.x)");
}

void emit_cuda_begin_counts(struct cuda_emitter *cuda)
{
    struct emitter *emitter = &cuda->emitter;
    struct counted counted;
    find(cuda, &counted);
    const struct ir_buffer *buffer = counted.store->access.buffer;
    emit_line(emitter, "__shared__ %s akg_counts[%d];", dtype_table[buffer->dtype].c_storage, COUNTED);
    emit_line(emitter, "const long long elements_ = %s;", emit_element_count(emitter, buffer));
    emit_line(emitter, "const int is_counted_ = elements_ <= %d;", COUNTED);
    emit_elements(emitter);
    emit_line(emitter, "    akg_counts[k_] = %s;",
              emit_cuda_neutral(cuda, counted.add.operation, buffer->dtype));
    emit_line(emitter, "__syncthreads();");
    cuda->counted = buffer;
}

void emit_cuda_end_counts(struct cuda_emitter *cuda)
{
    struct emitter *emitter = &cuda->emitter;
    struct counted counted;
    find(cuda, &counted);
    const struct ir_buffer *buffer = counted.store->access.buffer;
    cuda->counted = NULL;
    emit_line(emitter, "__syncthreads();");
    emit_elements(emitter);
    emit_line(emitter, "    if (akg_counts[k_] != %s)",
              emit_cuda_neutral(cuda, counted.add.operation, buffer->dtype));
    emit_line(emitter, "        akg_atomic_%s_%s(&%s[k_], akg_counts[k_]);",
              emit_cuda_combining_name(counted.add.operation), dtype_table[buffer->dtype].name,
              emitter->buffers[buffer->index]);
}
