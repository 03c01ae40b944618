// Assertions of the test cases. Each one throws an AssertionError if it does not hold.

import java.util.Objects;
import java.util.concurrent.Callable;

final class Check {
    static void holds(boolean holds, String what) {
        if (!holds) throw new AssertionError("not so: " + what);
    }

    static void equal(Object wanted, Object got) {
        if (!Objects.equals(wanted, got)) throw new AssertionError("wanted " + wanted + ", got " + got);
    }

    // Returns the exception that `call` throws. Fails unless it is an instance of `wanted`.
    static <E extends Throwable> E refused(Class<E> wanted, Callable<?> call) throws Exception {
        try {
            call.call();
        } catch (Throwable thrown) {
            if (wanted.isInstance(thrown)) return wanted.cast(thrown);
            throw thrown;
        }
        throw new AssertionError("no " + wanted.getSimpleName());
    }
}
