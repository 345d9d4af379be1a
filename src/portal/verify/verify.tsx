/** Shows how a receiver verifies requests, and finds out why a signature does not match. */
import { useState } from "react";
import type { Delivery, Endpoint, SigningSecrets } from "../../client/operations.ts";
import { envelopeOf } from "../delivery/envelope.ts";
import { Button } from "../parts/button.tsx";
import { Code } from "../parts/code.tsx";
import { useAct } from "../parts/act.ts";
import { Trouble } from "../parts/states.tsx";
import { useCall, useCan, useRead, useSession } from "../session/session.ts";
import { judge, type Named, type Verdict } from "./judge.ts";
import { canSign } from "./signature.ts";
import { unawaited } from "../../domain/unawaited.ts";

/** The files of docs/verify by their extensions, as JSON; put here by scripts/portal.ts. */
declare const __SNIPPETS__: string;
const SNIPPETS = JSON.parse(__SNIPPETS__) as Readonly<Record<string, string>>;
/** The header that the snippets name. The endpoint may use another. */
const NAMED = "X-Service-Signature";

const LANGUAGES: readonly (readonly [extension: string, name: string])[] = [
  [".mjs", "Node"],
  [".py", "Python"],
  [".go", "Go"],
  [".java", "Java"],
  [".rb", "Ruby"],
  [".php", "PHP"],
];

export function Verify({ endpoint }: { endpoint: Endpoint }) {
  const [language, setLanguage] = useState(LANGUAGES[0]![0]);
  const { signature_header: header } = useSession().portal;
  const name = LANGUAGES.find(([extension]) => extension === language)![1];
  return (
    <div className="columns">
      <section className="stack">
        <h2>Verify what arrives</h2>
        <p className="prose">
          The header <code>{header}</code> is the HMAC-SHA256 of the raw body, in hexadecimal. The key is this
          endpoint's signing secret as it is shown. Verify the bytes as they arrived, before anything parses them.
        </p>
        <div className="choices" role="group" aria-label="Language">
          {LANGUAGES.map(([extension, word]) => (
            <button
              key={extension}
              type="button"
              aria-pressed={extension === language}
              onClick={() => setLanguage(extension)}
            >
              {word}
            </button>
          ))}
        </div>
        <Code text={SNIPPETS[language]!.trim().replaceAll(NAMED, header)} label={`Code for ${name}`} />
      </section>
      <section className="stack">
        <h2>It does not match?</h2>
        {canSign() ? <Check endpoint={endpoint} /> : <p>This page can compute signatures only over https.</p>}
      </section>
    </div>
  );
}

const OTHER = "other";
const ERASED: Verdict = {
  matches: false,
  reason: "The data of this event was erased, so its signature cannot be checked here any more.",
  todo: "Choose another request, or paste the body that your receiver got.",
};

function Check({ endpoint }: { endpoint: Endpoint }) {
  const query = { endpoint: endpoint.id, limit: 10 };
  const events = useRead("listDeliveries", { query }, endpoint.id).value?.data;
  // Many people begin with a test event.
  const tests = useRead("listDeliveries", { query: { ...query, test: true } }, endpoint.id).value?.data;
  const recent = events && tests && [...events, ...tests];
  const [chosen, setChosen] = useState<string>();
  const [typed, setTyped] = useState({ body: "", signature: "", secret: "" });
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const maySecrets = useCan("secrets");
  const { client, portal } = useSession();
  const [act, call] = [useAct(), useCall()];
  const event = chosen ?? recent?.[0]?.event ?? OTHER;
  const type = (part: Partial<typeof typed>) => (setTyped({ ...typed, ...part }), setVerdict(null));
  const check = () =>
    act.run(async () => {
      const body = event === OTHER ? typed.body : envelopeOf(await client.text("getEvent", { id: event }));
      if (body === null) return setVerdict(ERASED);
      const given: Named = { name: "with the secret you pasted", secret: typed.secret.trim() };
      const secrets = maySecrets ? secretsOf(await call("getSecret", { id: endpoint.id })) : [given];
      setVerdict(await judge(body, typed.signature, secrets, portal.signature_header));
    });
  return (
    <form className="stack" noValidate onSubmit={(submitted) => (submitted.preventDefault(), unawaited(check()))}>
      <p className="prose">
        Paste the signature that your receiver computed, or the one that it got. It is checked in your browser.
      </p>
      <Which recent={recent ?? []} event={event} choose={(one) => (setChosen(one), setVerdict(null))} />
      {event === OTHER && (
        <div className="field">
          <label htmlFor="body">Body</label>
          <textarea
            id="body"
            spellCheck={false}
            value={typed.body}
            onChange={({ target }) => type({ body: target.value })}
          />
        </div>
      )}
      <Line id="signature" label="Signature" value={typed.signature} change={(signature) => type({ signature })} />
      {!maySecrets && (
        <Line id="secret" label="Signing secret" isSecret value={typed.secret} change={(secret) => type({ secret })} />
      )}
      <div className="actions start">
        <Button kind="primary" type="submit" busy={act.busy}>
          Check it
        </Button>
      </div>
      {act.fault && <Trouble fault={act.fault} />}
      <div role="status">{verdict && <Said verdict={verdict} />}</div>
    </form>
  );
}

interface WhichProps {
  readonly recent: readonly Delivery[];
  readonly event: string;
  readonly choose: (event: string) => void;
}

function Which({ recent, event, choose }: WhichProps) {
  return (
    <div className="field">
      <label htmlFor="which">Request</label>
      <select id="which" value={event} onChange={({ target }) => choose(target.value)}>
        {recent.map(({ id, type, event: one, test }) => (
          <option key={id} value={one}>
            {type} · {one}
            {test && " · test event"}
          </option>
        ))}
        <option value={OTHER}>Another body, pasted here</option>
      </select>
    </div>
  );
}

interface LineProps {
  readonly id: string;
  readonly label: string;
  readonly isSecret?: boolean;
  readonly value: string;
  readonly change: (value: string) => void;
}

function Line({ id, label, isSecret = false, value, change }: LineProps) {
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="code"
        type={isSecret ? "password" : "text"}
        autoComplete="off"
        spellCheck={false}
        value={value}
        onChange={({ target }) => change(target.value)}
      />
    </div>
  );
}

function secretsOf({ signing_secret: current, next_signing_secret: next }: SigningSecrets): Named[] {
  const first = { name: "with the current secret", secret: current };
  return next === undefined ? [first] : [first, { name: "with the next secret", secret: next }];
}

function Said({ verdict }: { verdict: Verdict }) {
  if (verdict.matches)
    return (
      <p className="alert good">
        <strong>It matches</strong> {verdict.by}.
      </p>
    );
  return (
    <div className="alert bad">
      <p>
        <strong>{verdict.reason}</strong> {verdict.todo}
      </p>
    </div>
  );
}
