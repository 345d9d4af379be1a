"""Asks the Python client what the lines of its input say (`Asked` in languages.ts), and answers each with a line."""
import base64
import json
import sys

sys.path.insert(0, sys.argv[1])
import webhookd  # noqa: E402


def tell(asked):
    if "verify" in asked:
        body, header, secrets = asked["verify"]
        return {"reason": webhookd.verify(base64.b64decode(body), header, secrets).reason}
    if "standard" in asked:
        body, headers, keys, now = asked["standard"]
        return {"reason": webhookd.verify_standard(base64.b64decode(body), headers, keys, now).reason}
    place = {"socket_path": asked["socket"]} if "socket" in asked else {"url": asked["url"], "key": sys.argv[2]}
    with webhookd.Client(**place, give_up_after=asked.get("giveUpAfterMs", 10_000) / 1000) as client:
        try:
            if "batch" in asked:
                return {"answer": client.publish_batch(asked["batch"])}
            return {"answer": client.publish(asked["publish"], idempotency_key=asked.get("idempotencyKey"))}
        except webhookd.PublishError as error:
            faults = [fault["code"] for fault in error.errors]
            return {"error": {"code": error.code, "events": error.events, "faults": faults}}


for line in sys.stdin:
    print(json.dumps(tell(json.loads(line))), flush=True)
