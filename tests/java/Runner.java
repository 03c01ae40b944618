// Runs the cases that are named on its standard input, one "CLASS.NAME ENDPOINT" per line. For each
// of them it prints the stack trace if the case fails, and then "done".

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.net.URI;

final class Runner {
    public static void main(String[] arguments) throws Exception {
        var told = new BufferedReader(new InputStreamReader(System.in));
        for (String line = told.readLine(); line != null; line = told.readLine()) {
            String[] words = line.split("[. ]", 3);
            try {
                Class.forName(words[0]).getDeclaredMethod(words[1], URI.class).invoke(null, URI.create(words[2]));
            } catch (InvocationTargetException wrong) {
                wrong.getCause().printStackTrace(System.out);
            }
            System.out.println("done");
        }
    }
}
