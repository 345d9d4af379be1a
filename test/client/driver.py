"""Asks the Python client what the lines of its input say (`Asked` in languages.ts), and answers each with a line."""
import asyncio
import base64
import json
import sys

sys.path.insert(0, sys.argv[1])
import webhookd  # noqa: E402


def place_of(asked):
    return {"socket_path": asked["socket"]} if "socket" in asked else {"url": asked["url"], "key": sys.argv[2]}


def told(error):
    events = getattr(error, "events", [])
    faults = [fault["code"] for fault in error.errors]
    return {"code": error.code, "retryable": error.retryable, "hint": error.hint, "events": events, "faults": faults}


def sent(ask):
    names = {"ifMatch": "if_match", "ifNoneMatch": "if_none_match"}
    return {names.get(name, name): value for name, value in ask.items()}


async def call_async(asked):
    async with webhookd.AsyncClient(**place_of(asked)) as client:
        if "withEtag" in asked:
            operation, ask = asked["withEtag"]
            return await client.call_with_etag(operation, **sent(ask))
        if "every" in asked:
            operation, ask = asked["every"]
            return [item async for item in client.every(operation, **ask)]
        operation, ask = asked["call"]
        return await client.call(operation, **sent(ask))


def call(asked):
    with webhookd.Client(**place_of(asked)) as client:
        if "withEtag" in asked:
            operation, ask = asked["withEtag"]
            return client.call_with_etag(operation, **sent(ask))
        if "every" in asked:
            operation, ask = asked["every"]
            return list(client.every(operation, **ask))
        operation, ask = asked["call"]
        return client.call(operation, **sent(ask))


def tell(asked):
    if "verify" in asked:
        body, header, secrets = asked["verify"]
        return {"reason": webhookd.verify(base64.b64decode(body), header, secrets).reason}
    if "standard" in asked:
        body, headers, keys, now = asked["standard"]
        return {"reason": webhookd.verify_standard(base64.b64decode(body), headers, keys, now).reason}
    try:
        if any(name in asked for name in ("call", "every", "withEtag")):
            is_async = len(sys.argv) > 3 and sys.argv[3] == "async"
            return {"answer": asyncio.run(call_async(asked)) if is_async else call(asked)}
        with webhookd.Client(**place_of(asked), give_up_after=asked.get("giveUpAfterMs", 10_000) / 1000) as client:
            if "batch" in asked:
                return {"answer": client.publish_batch(asked["batch"])}
            return {"answer": client.publish(asked["publish"], idempotency_key=asked.get("idempotencyKey"))}
    except webhookd.ClientError as error:
        return {"error": told(error)}


for line in sys.stdin:
    print(json.dumps(tell(json.loads(line))), flush=True)
