import java.util.HashMap;

/** Four threads of one JVM, each of which fills a map of 40,000 objects and reads it four times. */
public class Maps {
    public static void main(String[] args) throws InterruptedException {
        Thread[] threads = new Thread[4];
        for (int t = 0; t < threads.length; t++) {
            threads[t] = new Thread(Maps::fill);
            threads[t].start();
        }
        for (Thread t : threads) {
            t.join();
        }
    }

    private static void fill() {
        HashMap<Integer, long[]> map = new HashMap<>();
        for (int i = 0; i < 40_000; i++) {
            map.put(i * 7919, new long[16]);
        }
        long sum = 0;
        for (int pass = 0; pass < 4; pass++) {
            for (long[] value : map.values()) {
                value[pass] += 1;
                sum += value[0];
            }
        }
        if (sum < 0) {
            throw new IllegalStateException();
        }
    }
}
