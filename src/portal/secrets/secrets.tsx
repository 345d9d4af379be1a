/** Shows the signing secret of an endpoint, and replaces it without a failure in between. */
import { useState } from "react";
import type { Endpoint, SigningSecrets } from "../../client/operations.ts";
import { needsPrivateKey } from "../../domain/endpoints/endpoint.ts";
import { refusalOf } from "../endpoints/draft.ts";
import { TextField } from "../endpoints/text-field.tsx";
import { MARKS, rich } from "../language/rich.tsx";
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
import { t } from "../language/text.ts";

/** Revealed secrets are forgotten when the person leaves the tab. */
export function Secrets({ endpoint }: { endpoint: Endpoint }) {
  const [secrets, setSecrets] = useState<SigningSecrets | null>(null);
  const switchesAt = endpoint.secret_switches_at;
  return (
    <div className="stack secrets">
      <section className="card padded stack">
        <h2>{t("secrets.current")}</h2>
        <p className="prose">{t("secrets.itSignsEveryRequestTo")}</p>
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
        <Code text={secret} label={which === "current" ? t("secrets.current") : t("secrets.next")} />
        <div className="actions start">
          <Button onClick={() => set(null)}>{t("secrets.hide")}</Button>
        </div>
      </>
    );
  return (
    <div className="actions start">
      <Button busy={act.busy} onClick={() => unawaited(act.run(async () => set(await call("getSecret", { id }))))}>
        {which === "current" ? t("secrets.show") : t("secrets.showNext")}
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
      say(t("secrets.theNextSecretIsReady"));
    });
  return (
    <section className="card padded stack">
      <h2>{t("secrets.rotateTheSecret")}</h2>
      <p className="prose">{t("secrets.inTwoStepsSoThat")}</p>
      <ol className="steps">
        <li>{rich("secrets.step1", MARKS)}</li>
        <li>{rich("secrets.step2", MARKS)}</li>
      </ol>
      <Overlap id="overlap" seconds={overlap} change={setOverlap} />
      <details className="field">
        <summary>{t("secrets.useASecretOfYour")}</summary>
        <TextField
          id="own-secret"
          label={t("secrets.theNextSecret")}
          type="password"
          text={own}
          refusal={refusal}
          help={t("secrets.forExampleOneThatYour")}
          change={setOwn}
        />
      </details>
      <div className="actions start">
        <Button kind="primary" busy={act.busy} onClick={() => unawaited(begin())}>
          {t("secrets.createTheNextSecret")}
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
      <h2>{t("secrets.next")}</h2>
      <p className="alert wait">
        <span>
          {rich("secrets.inProgress", {
            until: <Until at={switchesAt} />,
            at: <At at={switchesAt} />,
          })}
        </span>
      </p>
      <ol className="steps">
        <li>{rich("secrets.addIt", MARKS)}</li>
        <li>{rich("secrets.thenTakeOver", MARKS)}</li>
      </ol>
      <Revealed id={id} secret={secrets?.next_signing_secret} set={set} which="next" />
      <div className="actions start">
        <Button kind="primary" onClick={() => setAsking("complete")}>
          {t("secrets.completeTheRotation")}
        </Button>
        <Button onClick={() => setAsking("abandon")}>{t("secrets.discardIt")}</Button>
      </div>
      <Question open={asking === "complete"} close={close} title={t("secrets.doesYourReceiverAcceptThe")}>
        <Consent
          text={t("secrets.fromNowOnRequestsAre")}
          word={t("secrets.yesCompleteTheRotation")}
          close={close}
          act={() => end("completeRotation", t("secrets.takenOver"))}
        />
      </Question>
      <Question open={asking === "abandon"} close={close} title={t("secrets.discardTheNextSecret")}>
        <Consent
          text={t("secrets.theCurrentSecretStaysIn")}
          word={t("secrets.discardIt")}
          close={close}
          act={() => end("abandonRotation", t("secrets.discarded"))}
        />
      </Question>
    </section>
  );
}
