import { EXIT } from "../../../cli/exit-code.ts";
import { someSecrets } from "../../../src/api/endpoints/secrets.ts";
import { signingKey } from "../../../src/domain/endpoints/secret.ts";
import type { Case, CaseElsewhere, Cases } from "./case.ts";

const SECRET = { "secret.txt": "It's a Secret to Everybody" };
const BODY = { "body.json": "Hello, World!" };
const SIGNATURE = signingKey(someSecrets.signing_secret).signBody(BODY["body.json"]);
const VECTOR = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

export const RECEIVER_CASES: Cases<"listen" | "trigger" | "demo" | "verify" | "sign", Case | CaseElsewhere> = {
  listen: { words: ["--port", "0", "--once"], testedIn: "test/cli/receiver/listen.test.ts" },
  demo: { words: ["--for", "30s"], testedIn: "test/cli/receiver/demo.test.ts" },
  trigger: {
    words: ["budget.exceeded", "--all"],
    asks: ["publishEvent", "getEvent"],
    exit: EXIT.answer_is_no,
    out: /^evt_\S+ {2}budget\.exceeded\n {2}ep_\S+ {2}example\.com\/hook {2}503 in 12 ms; .+\nNot delivered\.\n$/,
    json: { type: "budget.exceeded", status: "pending" },
  },
  verify: {
    words: ["--endpoint", "ep_06fbqxvx8r4m8q2v6ng0c3kz7t", "--signature", SIGNATURE, "{dir}/body.json"],
    asks: ["getSecret"],
    files: BODY,
    out: /^OK\n$/,
    json: { ok: true },
  },
  sign: {
    words: ["--secret-file", "{dir}/secret.txt", "{dir}/body.json"],
    asks: [],
    files: { ...SECRET, ...BODY },
    out: new RegExp(`^${VECTOR}\n$`),
    json: { signature: VECTOR },
  },
};
