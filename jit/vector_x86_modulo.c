/*
 * vector_x86_modulo.c: a % b and a // b of floats, in line, to the bit what scalar_library.c computes.
 *
 * With n = floor(a / b), the quotient rounded before, the remainder a - n b is exact but for its last
 * rounding (by fma), where |a / b| is below 2^22 (float64: 2^51): n has so few bits that n b fits. The
 * rounded quotient may have come up to a whole number that it is below; then the remainder has the wrong
 * sign, n is one less, and a - n b, less than a unit of a, is a float: adding b rounds once. Lanes with
 * larger quotients, and with infinite b, go through the function (vector_x86_rare.c).
 *
 * A b that is known to be above 0, and of moderate size, needs no look at its sign and size, nor a division:
 * n is the whole number nearest to a r, with r = 1 / b rounded, which below 2^22 is off by less than a half.
 * So a - n b is less than b to either side, and, a multiple of the last place of the lesser of a and b, it is
 * a float. Where it is below 0 n is one less, and adding b rounds once, as the function does.
 *
 * A remainder by 1, 1 / 2 and so on is what a is above its multiple below, which one instruction of AVX-512
 * finds. By other known numbers above 0, n is taken to be the whole number below a r, with r not below 1 / b:
 * a rest from 0 to below b is the remainder whatever n is, and other lanes are looked at again. Where a is
 * off by one b at most no n is needed (vector_x86_wrap.c).
 */
#include "vector_x86_math.h"
#include "vector_x86_operation.h"

#include <math.h>

/* a / b, n or one more, and what is left of a. `known`: b; 0: it is not known. */
struct division {
    double known;
    int quotient, whole, rest;
};

static double known_number(const struct real *real, int b)
{
    const double large = 0x1p100;
    const struct machine *machine = real->machine;
    for (int k = 0; k < machine->kept.count; k++) {
        const struct machine_kept *kept = &machine->kept.items[k];
        if (kept->kind == KEPT_CONSTANT && kept->virtual_register == b && kept->type == real->type)
            return vector_number(kept->type, kept->bits) < large &&
                           vector_number(kept->type, kept->bits) > 1 / large
                       ? vector_number(kept->type, kept->bits)
                       : 0;
    }
    return 0;
}

/* By which power of two a known b divides; false: by none. */
static bool is_power_of_two(const struct real *real, int b, int *exponent)
{
    double known = known_number(real, b);
    if (known == 0 || frexp(known, exponent) != 0.5)
        return false;
    --*exponent;
    return true;
}

/* a % 2^-digits: a - the multiple of that below a. */
static int rest_of_digits(const struct real *real, int a, int digits)
{
    return real_subtract(real, a, real_floor_at(real, a, digits));
}

/* a // 2^exponent, which is not above 1: what overflows does so in the function too. Of infinity it is nan,
 * which a * 0 makes it; other numbers that leaves, and the signs of zeros. */
static int floor_of_product(const struct real *real, int a, int exponent)
{
    int product = real_multiply(real, a, real_number(real, ldexp(1, -exponent)));
    return real_plus_product(real, real_floor(real, product), a, real_number(real, 0));
}

/* Rounded once. */
static double reciprocal(const struct real *real, double number)
{
    return real->wide ? 1 / number : (double)(1 / (float)number);
}

static struct division divide(const struct real *real, int a, int b)
{
    struct division division = {.known = known_number(real, b)};
    division.quotient = division.known > 0
                            ? real_multiply(real, a, real_number(real, reciprocal(real, division.known)))
                            : real_divide(real, a, b);
    division.whole =
        division.known > 0 ? real_nearest(real, division.quotient) : real_floor(real, division.quotient);
    /* a is needed where lanes are rare, n of a remainder is not: the rest takes its register */
    division.rest = machine_copy(real->machine, real->bits, division.whole);
    machine_into(real->machine, real->wide ? X86_VFNMADD213PD : X86_VFNMADD213PS, real->bits, division.rest,
                 b, a, 0);
    return division;
}

/* Whether n is one too large. */
static int is_over(const struct real *real, const struct division *division, int b)
{
    int turned = division->known > 0 ? division->rest : real_turned(real, division->rest, b);
    return real_compare(real, OP_LT, turned, real_number(real, 0));
}

/* What is above the limit where n has too many bits, or b is infinite. */
static int size_of(const struct real *real, const struct division *division, int b)
{
    if (division->known > 0 && machine_is_avx512(real->machine))
        return division->quotient;
    int size = real_magnitude(real, division->quotient);
    if (division->known > 0)
        return size;
    int scaled = real_multiply(real, b, real_number(real, real->wide ? 0x1p-972 : 0x1p-105));
    return real_most(real, size, real_magnitude(real, scaled));
}

/* The rest, with b added where it is below 0. Of a b above 0 that is the lesser of both as integers without a
 * sign, among which what is below 0 comes last: a rest of 0 has none. */
static int remainder_of(const struct real *real, const struct division *division, int b)
{
    int other = real_add(real, division->rest, b);
    if (division->known > 0 && (!real->wide || machine_is_avx512(real->machine)))
        return machine_rvm(real->machine, real->wide ? X86_VPMINUQ : X86_VPMINUD, real->bits, division->rest,
                           other);
    int result = real_select(real, is_over(real, division, b), other, division->rest);
    return division->known > 0 ? result : real_with_sign(real, real_magnitude(real, result), b);
}

/* The least float that is not below 1 / number. */
static double reciprocal_above(const struct real *real, double number)
{
    double r = reciprocal(real, number);
    if (fma(r, number, -1) >= 0)
        return r;
    return real->wide ? nextafter(r, INFINITY) : (double)nextafterf((float)r, INFINITY);
}

/* Whether few lanes have to be looked at twice. With r = 1 / b (1 + e) and e not above half a unit, the
 * quotient of a multiple of b rounds to its n. Else it is one less for many below 0, which are to be expected
 * where b is whole: numbers that count something. */
static bool is_quick(const struct real *real, double number)
{
    double half = real->wide ? 0x1p-54 : 0x1p-25;
    return number > 0 && (number != floor(number) || fma(reciprocal_above(real, number), number, -1) <= half);
}

/* a - n b, with n the whole number below a r. Is it not below 0, and below b, it is what is asked for,
 * whatever n is: multiples of the last place of the lesser of a and b below b are floats, and the rest is
 * exact; of an a from -b to below 0, where n is -1, adding b rounds once. No multiple of b above 0 has a
 * quotient below its n. Other lanes are looked at again. */
static int quick_remainder(const struct real *real, int a, int b)
{
    int r = real_number(real, reciprocal_above(real, known_number(real, b)));
    int rest = real_floor(real, real_multiply(real, a, r));
    machine_into(real->machine, real->wide ? X86_VFNMADD213PD : X86_VFNMADD213PS, real->bits, rest, b, a, 0);
    struct machine_rarity rarity = {RARITY_REST, .x = a, .y = b, .size = rest, .result = rest};
    return machine_rare(real->machine, OP_MOD, real->type, 0, rarity);
}

/* Of an a that is off by one b at most: as integers without a sign the lesser of a and a with one b less, or
 * more, where a is what the loop is for, and else not from 0 to below b, nor is nan. From b to 2 b, a - b is
 * a float; a + b of an a below 0 rounds once. */
static int wrapped_remainder(const struct real *real, int a, int b)
{
    struct machine *machine = real->machine;
    int other = machine->wrap == MACHINE_WRAP_ABOVE ? real_subtract(real, a, b) : real_add(real, a, b);
    int rest = machine_rvm(machine, real->wide ? X86_VPMINUQ : X86_VPMINUD, real->bits, a, other);
    int greatest = machine_keep(machine, KEPT_WRAPPED, real->type, b, 0);
    machine_into(machine, real->wide ? X86_VPMAXUQ : X86_VPMAXUD, real->bits, greatest, greatest, rest, 0);
    return rest;
}

static int quotient_of(const struct real *real, const struct division *division, int b)
{
    int less = real_subtract(real, division->whole, real_number(real, 1));
    return real_select(real, is_over(real, division, b), less, division->whole);
}

int real_modulo(const struct real *real, enum operation operation, int a, int b)
{
    enum { MOST_DIGITS = 15 };
    int exponent, most = machine_is_avx512(real->machine) ? MOST_DIGITS : 0;
    bool is_power = is_power_of_two(real, b, &exponent);
    if (is_power && operation == OP_MOD && exponent <= 0 && -exponent <= most)
        return rest_of_digits(real, a, -exponent);
    if (is_power && operation == OP_FLOORDIV && exponent <= 0)
        return floor_of_product(real, a, exponent);
    if (operation == OP_MOD && known_number(real, b) > 0 &&
        (!real->wide || machine_is_avx512(real->machine))) {
        real->machine->has_remainders = true;
        if (real->machine->wrap)
            return wrapped_remainder(real, a, b);
    }
    if (operation == OP_MOD && is_quick(real, known_number(real, b)))
        return quick_remainder(real, a, b);
    struct division division = divide(real, a, b);
    struct machine_rarity rarity = {.kind = machine_is_avx512(real->machine) ? RARITY_QUOTIENT : RARITY_SIZE,
                                    .x = a,
                                    .y = b,
                                    .size = size_of(real, &division, b)};
    rarity.result = operation == OP_MOD ? remainder_of(real, &division, b) : quotient_of(real, &division, b);
    return machine_rare(real->machine, operation, real->type, real->wide ? 0x1p51 : 0x1p22, rarity);
}
