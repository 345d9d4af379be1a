/** Shows how a receiver verifies requests, and finds out why a signature does not match. */
import { useState } from "react";
import type { Delivery, Endpoint, SigningKeys, SigningSecrets } from "../../client/operations.ts";
import { BODY_FORMATS } from "../../domain/endpoints/body-format.ts";
import { type NoBody, sentBody } from "../delivery/envelope.ts";
import { Button } from "../parts/button.tsx";
import { MARKS, rich } from "../language/rich.tsx";
import { useAct } from "../parts/act.ts";
import { Trouble } from "../parts/states.tsx";
import { useTenantAsk } from "../secrets/public-keys.tsx";
import { useCall, useCan, useRead, useSession } from "../session/session.ts";
import { VerifyingCode } from "./code.tsx";
import { judge, no, type Named, type Verdict } from "./judge.ts";
import { isStandard, judgeStandard } from "./judge-standard.ts";
import { canSign } from "./signature.ts";
import { unawaited } from "../../domain/unawaited.ts";
import { t } from "../language/text.ts";
import type { WordKey } from "../language/catalogue.ts";

export function Verify({ endpoint }: { endpoint: Endpoint }) {
  return (
    <div className="columns">
      <section className="stack">
        <h2>{t("verify.verifyWhatArrives")}</h2>
        <VerifyingCode endpoint={endpoint} />
      </section>
      <section className="stack">
        <h2>{t("verify.itDoesNotMatch")}</h2>
        {canSign() ? <Check endpoint={endpoint} /> : <p>{t("verify.thisPageCanComputeSignatures")}</p>}
      </section>
    </div>
  );
}

const OTHER = "other";
const NO_BODY = {
  erased: ["verify.erased", "verify.chooseAnother"],
  unknown_format: ["verify.olderPage", "verify.reload"],
} as const satisfies Readonly<Record<NoBody, readonly [WordKey, WordKey]>>;
const BLANK = { body: "", signature: "", timestamp: "", secret: "" };
type Typed = typeof BLANK;

function Check({ endpoint }: { endpoint: Endpoint }) {
  const query = { endpoint: endpoint.id, limit: 10 };
  const events = useRead("listDeliveries", { query }, endpoint.id).value?.data;
  // Many people start with a test event.
  const tests = useRead("listDeliveries", { query: { ...query, test: true } }, endpoint.id).value?.data;
  const recent = events && tests && [...events, ...tests];
  const [chosen, setChosen] = useState<string>();
  const [typed, setTyped] = useState<Typed>(BLANK);
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const act = useAct();
  const judged = useJudge(endpoint);
  const event = chosen ?? recent?.[0]?.event ?? OTHER;
  const type = (part: Partial<Typed>) => (setTyped({ ...typed, ...part }), setVerdict(null));
  const check = () =>
    act.run(async () => {
      const delivery = recent?.find((one) => one.event === event);
      setVerdict(await judged(typed, delivery));
    });
  return (
    <form className="stack" noValidate onSubmit={(submitted) => (submitted.preventDefault(), unawaited(check()))}>
      <p className="prose">{t("verify.pasteTheSignatureThatYour")}</p>
      <Which recent={recent ?? []} event={event} choose={(one) => (setChosen(one), setVerdict(null))} />
      <Fields typed={typed} isOther={event === OTHER} change={type} />
      <div className="actions start">
        <Button kind="primary" type="submit" busy={act.busy}>
          {t("verify.checkIt")}
        </Button>
      </div>
      {act.fault && <Trouble fault={act.fault} />}
      <div role="status">{verdict && <Said verdict={verdict} />}</div>
    </form>
  );
}

interface FieldsProps {
  readonly typed: Typed;
  /** True if the body is pasted too. */
  readonly isOther: boolean;
  readonly change: (part: Partial<Typed>) => void;
}

function Fields({ typed, isOther, change }: FieldsProps) {
  const maySecrets = useCan("secrets");
  return (
    <>
      {isOther && (
        <div className="field">
          <label htmlFor="body">{t("verify.body")}</label>
          <textarea
            id="body"
            spellCheck={false}
            value={typed.body}
            onChange={({ target }) => change({ body: target.value })}
          />
        </div>
      )}
      <Line
        id="signature"
        label={t("verify.signature")}
        value={typed.signature}
        change={(signature) => change({ signature })}
      />
      {isStandard(typed.signature) && (
        <Line
          id="timestamp"
          label={isOther ? "webhook-timestamp" : t("verify.timestamp")}
          value={typed.timestamp}
          change={(timestamp) => change({ timestamp })}
        />
      )}
      {!maySecrets && !onlyByPublicKey(typed.signature) && (
        <Line
          id="secret"
          label={t("common.signingSecret")}
          isSecret
          value={typed.secret}
          change={(secret) => change({ secret })}
        />
      )}
    </>
  );
}

/** True for a signature that can be checked without a secret. */
function onlyByPublicKey(signature: string): boolean {
  return isStandard(signature) && !/\bv1,/.test(signature);
}

/** Returns a function that decides whether a signature is valid. `delivery` is undefined if the body was pasted. */
function useJudge({ id, tenant, format }: Endpoint) {
  const { client, portal } = useSession();
  const call = useCall();
  const maySecrets = useCan("secrets");
  const ask = useTenantAsk(tenant);
  return async (typed: Typed, delivery: Delivery | undefined): Promise<Verdict> => {
    const { signature } = typed;
    const answer = delivery && (await client.text("getEvent", { id: delivery.event }));
    const sent = answer === undefined ? typed : sentBody(answer, format);
    if (typeof sent === "string") {
      const [reason, todo] = NO_BODY[sent];
      return no(t(reason), t(todo));
    }
    const given: Named = { name: t("verify.withPasted"), key: typed.secret.trim() };
    const needsSecret = !onlyByPublicKey(signature);
    const secrets = !needsSecret ? [] : maySecrets ? secretsOf(await call("getSecret", { id })) : [given];
    const judged = isStandard(signature)
      ? await standardJudge({ typed, delivery, secrets })
      : (body: string) => judge(body, signature, secrets, portal.signature_header);
    const verdict = await judged(sent.body);
    if (verdict.matches || answer === undefined) return verdict;
    return (await byEarlierFormat(answer, format, judged)) ?? verdict;
  };

  async function standardJudge({ typed, delivery, secrets }: StandardAsked) {
    const attempts =
      delivery === undefined ? [] : (await client.call("listDeliveryAttempts", { id: delivery.id })).data;
    const request = {
      id: delivery?.event,
      timestamp: typed.timestamp.trim(),
      attempts: attempts.map(({ started_at: at }) => Math.floor(Date.parse(at) / 1000)),
      secrets,
      publicKeys: publicKeysOf(await client.call("getSigningKeys", ask)),
    };
    return (body: string) => judgeStandard({ ...request, body }, typed.signature);
  }
}

interface StandardAsked {
  readonly typed: Typed;
  readonly delivery: Delivery | undefined;
  readonly secrets: readonly Named[];
}

/** The endpoint may have had another format when the request was sent. */
async function byEarlierFormat(
  answer: string,
  now: Endpoint["format"],
  judged: (body: string) => Promise<Verdict>,
): Promise<Verdict | null> {
  for (const format of BODY_FORMATS) {
    const sent = sentBody(answer, format);
    const verdict = format === now || typeof sent === "string" ? null : await judged(sent.body);
    if (verdict?.matches) return { matches: true, by: t("verify.earlierFormat", { by: verdict.by }) };
  }
  return null;
}

interface WhichProps {
  readonly recent: readonly Delivery[];
  readonly event: string;
  readonly choose: (event: string) => void;
}

function Which({ recent, event, choose }: WhichProps) {
  return (
    <div className="field">
      <label htmlFor="which">{t("common.request")}</label>
      <select id="which" value={event} onChange={({ target }) => choose(target.value)}>
        {recent.map(({ id, type, event: one, test }) => (
          <option key={id} value={one}>
            {type} · {one}
            {test && ` · ${t("trigger.test")}`}
          </option>
        ))}
        <option value={OTHER}>{t("verify.anotherBodyPastedHere")}</option>
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
  const first = { name: t("verify.withCurrent"), key: current };
  return next === undefined ? [first] : [first, { name: t("verify.withNext"), key: next }];
}

function publicKeysOf({ public_key: current, next_public_key: next }: SigningKeys): Named[] {
  const keys = [
    { name: t("verify.withCurrentKey"), key: current },
    { name: t("verify.withNextKey"), key: next },
  ];
  return keys.filter((one): one is Named => typeof one.key === "string");
}

function Said({ verdict }: { verdict: Verdict }) {
  if (verdict.matches) return <p className="alert good">{rich("verify.matches", { ...MARKS, by: verdict.by })}</p>;
  return (
    <div className="alert bad">
      <p>
        <strong>{verdict.reason}</strong> {verdict.todo}
      </p>
    </div>
  );
}
