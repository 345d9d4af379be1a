"""Publishers on 50 threads, each at work until the input ends. Prints a line for each event that was accepted."""
import sys
import threading

sys.path.insert(0, sys.argv[1])
import webhookd  # noqa: E402

client = webhookd.Client(sys.argv[2], sys.argv[3], give_up_after=60)
ended = threading.Event()


def publish(name):
    number = 0
    while not ended.is_set():
        number += 1
        by = f"python-{name}"
        event = {"type": "goal.achieved", "data": {"by": by, "number": number}, "ordering_key": by}
        # Every third event is published alone, and the others in pairs.
        if number % 3 == 0:
            published = [client.publish(event)]
        else:
            published = client.publish_batch([event, {**event, "data": {**event["data"], "pair": True}}])
        for one in published:
            sys.stdout.write(one["id"] + "\n")
        sys.stdout.flush()


threads = [threading.Thread(target=publish, args=(name,)) for name in range(50)]
for thread in threads:
    thread.start()
sys.stdin.read()
ended.set()
for thread in threads:
    thread.join()
