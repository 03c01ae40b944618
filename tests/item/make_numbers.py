"""Prints numbers.txt: the results of Python's `decimal` module, with which number_test.cpp compares
those of Number.

    make_numbers.py > numbers.txt

Each line has a question and its answer:
    text A -> T       the normalised text of A, or the name of its error
    add A B -> T      the normalised text of the sum, or the name of its error
    subtract A B -> T
    compare A B -> <  or = or >
    size A -> N       the number of bytes that DynamoDB counts for it
"""

import random
from decimal import Decimal, localcontext

SEED = 20261121
LARGEST = Decimal("9.9999999999999999999999999999999999999E+125")
SMALLEST = Decimal("1E-130")


def significant(value):
    """Returns the number of digits from the first to the last non-zero digit."""
    return len("".join(map(str, value.as_tuple().digits)).strip("0"))


def fault(value):
    """Returns the limit that `value` exceeds, or None. If it exceeds two of them, only the first is
    returned."""
    if value == 0:
        return None
    if value.adjusted() > 125:
        return "overflow"
    if value.adjusted() < -130:
        return "underflow"
    return "precision" if significant(value) > 38 else None


def answer(value):
    return fault(value) or plain(value)


def plain(value):
    """Returns `value` in decimal notation, without an exponent and without redundant zeros."""
    if value == 0:
        return "0"
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def size(value):
    """Returns 1, plus 1 for each pair of digits counted from the decimal point, plus 1 for a minus
    sign."""
    text = plain(abs(value))
    if text == "0":
        return 1
    whole, _, fraction = text.partition(".")
    whole = whole.zfill(len(whole) + len(whole) % 2)
    fraction += "0" * (len(fraction) % 2)
    digits = whole + fraction
    pairs = [digits[i:i + 2] for i in range(0, len(digits), 2)]
    while pairs[0] == "00":
        pairs.pop(0)
    while pairs[-1] == "00":
        pairs.pop()
    return 1 + len(pairs) + (value < 0)


def random_digits(chance, count):
    kind = chance.random()
    if kind < 0.2:
        return "9" * count
    if kind < 0.4:
        return "1" + "0" * (count - 1)
    return "".join(chance.choice("0123456789") for _ in range(count))


def random_number(chance, near=None):
    count = chance.choice([1, 1, 2, 3, 5, 17, 18, 19, 20, 21, 36, 37, 38, chance.randint(1, 38)])
    digits = random_digits(chance, count)
    if near is None:
        exponent = chance.choice([0, 0, -1, -2, chance.randint(-40, 40), chance.randint(-167, 125)])
    else:
        exponent = near + chance.randint(-39, 39)
    # `decimal` keeps the exponent of a zero, so zeros are tested without one.
    if int(digits) == 0:
        exponent = 0
    sign = chance.choice(["", "", "-"])
    return f"{sign}{digits}e{exponent}"


def written(chance, text):
    """Returns another notation of the same number."""
    value = Decimal(text)
    digits = "".join(map(str, value.as_tuple().digits))
    digits = "0" * chance.randint(0, 3) + digits + "0" * chance.randint(0, 3)
    point = chance.randint(0, len(digits))
    mantissa = f"{digits[:point]}.{digits[point:]}"
    if "." in (mantissa[0], mantissa[-1]) and chance.random() < 0.5:
        mantissa = f"0{mantissa}0"
    exponent = value.as_tuple().exponent
    if value != 0:
        exponent = value.adjusted() - Decimal(mantissa).adjusted()
    sign = "-" if value < 0 else chance.choice(["", "+"])
    return f"{sign}{mantissa}{chance.choice('eE')}{chance.choice(['', '+']) if exponent >= 0 else ''}{exponent}"


def main():
    chance = random.Random(SEED)
    with localcontext() as context:
        context.prec = 700
        context.Emax, context.Emin = 10**6, -10**6
        fixed = [str(LARGEST), str(-LARGEST), str(SMALLEST), str(-SMALLEST), "1.5e-130",
                 "9.9e-131", "1e126", "0.1e126", "10e125", "0.00001e-126", "1" + "0" * 125,
                 "0." + "0" * 129 + "1", "0." + "0" * 130 + "1", "1" + "0" * 38, "1" + "0" * 37 + "1",
                 "99999999999999999999999999999999999999", "999999999999999999999999999999999999999"]
        for text in fixed + [random_number(chance) for _ in range(300)]:
            print("text", text, "->", answer(Decimal(text)))
            other = written(chance, text)
            print("text", other, "->", answer(Decimal(other)))
            if not fault(Decimal(text)):
                print("size", text, "->", size(Decimal(text)))
        pairs = [("9e125", "9e125"), ("1.5e-130", "-1e-130"), (str(LARGEST), "1e88"), (str(LARGEST), "1e87"),
                 ("1e38", "-1"), ("1e39", "-1"), ("1e38", "1"), ("1e37", "1"), ("1e125", "-1e125"),
                 ("99999999999999999999999999999999999999", "1"),
                 ("99999999999999999999999999999999999999", "0.1")]
        while len(pairs) < 500:
            left = random_number(chance)
            right = random_number(chance, Decimal(left).as_tuple().exponent)
            if chance.random() < 0.1:
                right = written(chance, left)
            pairs.append((left, right))
        for left, right in pairs:
            first, second = Decimal(left), Decimal(right)
            if fault(first) or fault(second):
                continue
            order = "<" if first < second else ">" if first > second else "="
            print("compare", left, right, "->", order)
            for word, result in (("add", first + second), ("subtract", first - second)):
                # DynamoDB reports an overflow if a result has too many digits.
                print(word, left, right, "->", answer(result).replace("precision", "overflow"))


if __name__ == "__main__":
    main()
