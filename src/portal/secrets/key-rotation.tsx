/** Replaces the private key of a tenant, whose public part verifies `v1a`, without a failure in between. */
import { useState } from "react";
import type { SigningKeys } from "../../client/operations.ts";
import { MARKS, rich } from "../language/rich.tsx";
import { useAct } from "../parts/act.ts";
import { Button } from "../parts/button.tsx";
import { Question } from "../parts/dialog.tsx";
import { useNotice } from "../parts/notice.tsx";
import { Trouble } from "../parts/states.tsx";
import { At, Until } from "../parts/time.tsx";
import { useCall, useSession } from "../session/session.ts";
import { PublicKeys, usePublicKeys, useTenantAsk } from "./public-keys.tsx";
import { Consent, Overlap, USUAL_OVERLAP } from "./rotation.tsx";
import { unawaited } from "../../domain/unawaited.ts";
import { t } from "../language/text.ts";

export function KeyRotation({ tenant }: { tenant: string }) {
  const { value } = usePublicKeys(tenant);
  // The key also signs for other endpoints, so a link to only some of them cannot replace it.
  const mayRotate = useSession().portal.endpoints === null;
  return (
    <section className="card padded stack">
      <h2>{t("common.publicKey")}</h2>
      <p className="prose">{rich("key.verifies", MARKS)}</p>
      <PublicKeys tenant={tenant} />
      {mayRotate &&
        value &&
        (value.switches_at === undefined ? <Begin tenant={tenant} /> : <End tenant={tenant} keys={value} />)}
    </section>
  );
}

function Begin({ tenant }: { tenant: string }) {
  const [overlap, setOverlap] = useState(USUAL_OVERLAP);
  const [act, call, say, ask] = [useAct(), useCall(), useNotice(), useTenantAsk(tenant)];
  const begin = () =>
    act.run(async () => {
      await call("rotateSigningKey", { ...ask, body: { overlap_seconds: overlap } });
      say(t("key.bothKeysSignNow"));
    });
  return (
    <details>
      <summary>{t("key.rotateTheKey")}</summary>
      <div className="stack">
        <p className="prose">{t("key.aNextKeyIsMade")}</p>
        <Overlap id="key-overlap" seconds={overlap} change={setOverlap} />
        <div className="actions start">
          <Button busy={act.busy} onClick={() => unawaited(begin())}>
            {t("key.createTheNextKey")}
          </Button>
        </div>
        {act.fault && <Trouble fault={act.fault} />}
      </div>
    </details>
  );
}

const ENDS = {
  completeKeyRotation: {
    title: "key.completeTitle",
    text: "key.completeText",
    word: "key.completeWord",
    said: "key.completed",
  },
  abandonKeyRotation: {
    title: "key.discardTitle",
    text: "key.discardText",
    word: "key.discard",
    said: "key.discarded",
  },
} as const;

function End({ tenant, keys }: { tenant: string; keys: SigningKeys }) {
  const [asking, setAsking] = useState<keyof typeof ENDS | null>(null);
  const [call, say, ask] = [useCall(), useNotice(), useTenantAsk(tenant)];
  const close = () => setAsking(null);
  return (
    <>
      <p className="alert wait">
        <span>
          {rich("key.bothSign", {
            until: <Until at={keys.switches_at!} />,
            at: <At at={keys.switches_at!} />,
          })}
        </span>
      </p>
      <div className="actions start">
        <Button kind="primary" onClick={() => setAsking("completeKeyRotation")}>
          {t("key.completeTheRotationOfThe")}
        </Button>
        <Button onClick={() => setAsking("abandonKeyRotation")}>{t("key.discard")}</Button>
      </div>
      {(Object.keys(ENDS) as (keyof typeof ENDS)[]).map((operation) => (
        <Question key={operation} open={asking === operation} close={close} title={t(ENDS[operation].title)}>
          <Consent
            text={t(ENDS[operation].text)}
            word={t(ENDS[operation].word)}
            close={close}
            act={async () => {
              await call(operation, ask);
              say(t(ENDS[operation].said));
            }}
          />
        </Question>
      ))}
    </>
  );
}
