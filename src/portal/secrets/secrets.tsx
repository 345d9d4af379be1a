/** Shows the signing secret of an endpoint, and replaces it without a failure in between. */
import { useState } from "react";
import type { Endpoint, SigningSecrets } from "../../client/operations.ts";
import { needsPrivateKey } from "../../domain/endpoints/endpoint.ts";
import { refusalOf } from "../endpoints/draft.ts";
import { TextField } from "../endpoints/text-field.tsx";
import { useAct } from "../parts/act.ts";
import { Button } from "../parts/button.tsx";
import { Code } from "../parts/code.tsx";
import { Question } from "../parts/dialog.tsx";
import { useNotice } from "../parts/notice.tsx";
import { Trouble } from "../parts/states.tsx";
import { At, Until } from "../parts/time.tsx";
import { useCall } from "../session/session.ts";
import { KeyRotation } from "./key-rotation.tsx";
import { Consent, Overlap, USUAL_OVERLAP } from "./rotation.tsx";
import { unawaited } from "../../domain/unawaited.ts";

/** Revealed secrets are forgotten when the person leaves the tab. */
export function Secrets({ endpoint }: { endpoint: Endpoint }) {
  const [secrets, setSecrets] = useState<SigningSecrets | null>(null);
  const switchesAt = endpoint.secret_switches_at;
  return (
    <div className="stack secrets">
      <section className="card padded stack">
        <h2>Current secret</h2>
        <p className="prose">
          It signs every request to this endpoint. Anyone who has it can forge such requests. Keep it as safe as a
          password.
        </p>
        <Revealed id={endpoint.id} secret={secrets?.signing_secret} set={setSecrets} which="current" />
      </section>
      {switchesAt === null ? (
        <Rotate endpoint={endpoint} set={setSecrets} />
      ) : (
        <Rotating endpoint={endpoint} switchesAt={switchesAt} secrets={secrets} set={setSecrets} />
      )}
      {needsPrivateKey(endpoint) && <KeyRotation tenant={endpoint.tenant} />}
    </div>
  );
}

type SetSecrets = (secrets: SigningSecrets | null) => void;

interface RevealedProps {
  readonly id: string;
  readonly secret: string | undefined;
  readonly set: SetSecrets;
  readonly which: "current" | "next";
}

function Revealed({ id, secret, set, which }: RevealedProps) {
  const [act, call] = [useAct(), useCall()];
  if (secret !== undefined)
    return (
      <>
        <Code text={secret} label={which === "current" ? "Current secret" : "Next secret"} />
        <div className="actions start">
          <Button onClick={() => set(null)}>Hide</Button>
        </div>
      </>
    );
  return (
    <div className="actions start">
      <Button busy={act.busy} onClick={() => unawaited(act.run(async () => set(await call("getSecret", { id }))))}>
        {which === "current" ? "Show the secret" : "Show the next secret"}
      </Button>
      {act.fault && <Trouble fault={act.fault} />}
    </div>
  );
}

function Rotate({ endpoint: { id }, set }: { endpoint: Endpoint; set: SetSecrets }) {
  const [overlap, setOverlap] = useState(USUAL_OVERLAP);
  const [own, setOwn] = useState("");
  const [act, call, say] = [useAct(), useCall(), useNotice()];
  const refusal = refusalOf(act.fault, "/secret");
  const begin = () =>
    act.run(async () => {
      const secret = own.trim();
      set(await call("rotateSecret", { id, body: { overlap_seconds: overlap, ...(secret !== "" && { secret }) } }));
      say("The next secret is ready");
    });
  return (
    <section className="card padded stack">
      <h2>Rotate the secret</h2>
      <p className="prose">In two steps, so that no request is refused in between:</p>
      <ol className="steps">
        <li>
          <strong>You get the next secret</strong> and add it to your receiver, which then accepts both. Until it takes
          over, requests are still signed with the current one.
        </li>
        <li>
          <strong>The next secret takes over</strong>, on its own or when you say so. Then remove the old one from your
          receiver.
        </li>
      </ol>
      <Overlap id="overlap" seconds={overlap} change={setOverlap} />
      <details className="field">
        <summary>Use a secret of your own</summary>
        <TextField
          id="own-secret"
          label="The next secret"
          type="password"
          text={own}
          refusal={refusal}
          help="For example one that your receiver has already. If this is empty, we make one."
          change={setOwn}
        />
      </details>
      <div className="actions start">
        <Button kind="primary" busy={act.busy} onClick={() => unawaited(begin())}>
          Create the next secret
        </Button>
      </div>
      {act.fault && refusal === undefined && <Trouble fault={act.fault} />}
    </section>
  );
}

interface RotatingProps {
  readonly endpoint: Endpoint;
  readonly switchesAt: string;
  readonly secrets: SigningSecrets | null;
  readonly set: SetSecrets;
}

function Rotating({ endpoint: { id }, switchesAt, secrets, set }: RotatingProps) {
  const [asking, setAsking] = useState<"complete" | "abandon" | null>(null);
  const [call, say] = [useCall(), useNotice()];
  const close = () => setAsking(null);
  const end = async (operation: "completeRotation" | "abandonRotation", said: string) => {
    await call(operation, { id });
    set(null);
    say(said);
  };
  return (
    <section className="card padded stack">
      <h2>Next secret</h2>
      <p className="alert wait">
        <span>
          A rotation is in progress. The next secret takes over <Until at={switchesAt} /> (<At at={switchesAt} />
          ).
        </span>
      </p>
      <ol className="steps">
        <li>
          <strong>Add the next secret to your receiver</strong>, beside the current one. A signature made with either is
          valid.
        </li>
        <li>
          <strong>Then let it take over</strong>, and remove the old one from your receiver.
        </li>
      </ol>
      <Revealed id={id} secret={secrets?.next_signing_secret} set={set} which="next" />
      <div className="actions start">
        <Button kind="primary" onClick={() => setAsking("complete")}>
          Complete the rotation
        </Button>
        <Button onClick={() => setAsking("abandon")}>Discard it</Button>
      </div>
      <Question open={asking === "complete"} close={close} title="Does your receiver accept the next secret?">
        <Consent
          text="From now on, requests are signed only with the next secret. If your receiver does not know it, it will refuse them, and they will be retried."
          word="Yes, complete the rotation"
          close={close}
          act={() => end("completeRotation", "The next secret has taken over")}
        />
      </Question>
      <Question open={asking === "abandon"} close={close} title="Discard the next secret?">
        <Consent
          text="The current secret stays in use. Remove the next one from your receiver."
          word="Discard it"
          close={close}
          act={() => end("abandonRotation", "The next secret was discarded")}
        />
      </Question>
    </section>
  );
}
