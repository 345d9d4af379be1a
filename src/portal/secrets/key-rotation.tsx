/** Replaces the private key of a tenant, whose public part verifies `v1a`, without a failure in between. */
import { useState } from "react";
import type { SigningKeys } from "../../client/operations.ts";
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

export function KeyRotation({ tenant }: { tenant: string }) {
  const { value } = usePublicKeys(tenant);
  // The key also signs for other endpoints, so a link to only some of them cannot replace it.
  const mayRotate = useSession().portal.endpoints === null;
  return (
    <section className="card padded stack">
      <h2>Public key</h2>
      <p className="prose">
        Verifies the entry <code>v1a,…</code> in <code>webhook-signature</code>. Everyone may know it. It is the same
        for all of your endpoints with Ed25519 signatures.
      </p>
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
      say("Both keys sign now");
    });
  return (
    <details>
      <summary>Rotate the key</summary>
      <div className="stack">
        <p className="prose">
          A next key is made, and at once both sign every request. Give your receivers the next public key before it
          takes over.
        </p>
        <Overlap id="key-overlap" seconds={overlap} change={setOverlap} />
        <div className="actions start">
          <Button busy={act.busy} onClick={() => unawaited(begin())}>
            Create the next key
          </Button>
        </div>
        {act.fault && <Trouble fault={act.fault} />}
      </div>
    </details>
  );
}

const ENDS = {
  completeKeyRotation: {
    title: "Do all of your receivers accept the next key?",
    text: "From now on only the next key signs. A receiver that does not know its public key refuses the requests, and they are retried.",
    word: "Yes, complete it",
    said: "The next key has taken over",
  },
  abandonKeyRotation: {
    title: "Discard the next key?",
    text: "The current key stays in use. Remove the next public key from your receivers.",
    word: "Discard the next key",
    said: "The next key was discarded",
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
          Both keys sign. The next one takes over <Until at={keys.switches_at!} /> (<At at={keys.switches_at!} />
          ).
        </span>
      </p>
      <div className="actions start">
        <Button kind="primary" onClick={() => setAsking("completeKeyRotation")}>
          Complete the rotation of the key
        </Button>
        <Button onClick={() => setAsking("abandonKeyRotation")}>Discard the next key</Button>
      </div>
      {(Object.keys(ENDS) as (keyof typeof ENDS)[]).map((operation) => (
        <Question key={operation} open={asking === operation} close={close} title={ENDS[operation].title}>
          <Consent
            {...ENDS[operation]}
            close={close}
            act={async () => {
              await call(operation, ask);
              say(ENDS[operation].said);
            }}
          />
        </Question>
      ))}
    </>
  );
}
