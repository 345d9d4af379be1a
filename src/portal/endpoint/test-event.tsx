/** Sends a sample to an endpoint, and shows the result. */
import { useState } from "react";
import type { Attempt, Endpoint } from "../../client/operations.ts";
import { adviceFor } from "../delivery/advice.ts";
import { AttemptAnswer, durationText } from "../delivery/attempt.tsx";
import { useAct } from "../parts/act.ts";
import { Button } from "../parts/button.tsx";
import { Sheet } from "../parts/dialog.tsx";
import { Loading, Trouble } from "../parts/states.tsx";
import { chosenOf } from "../../domain/events/pattern.ts";
import { NONE } from "../server/reads.ts";
import { useCall, useRead } from "../session/session.ts";
import { unawaited } from "../../domain/unawaited.ts";
import { t } from "../language/text.ts";

/** Long enough for the longest attempt, and for the daemon's own wait for it. */
const TIMEOUT_MS = 30_000;

export function TestEvent({ endpoint }: { endpoint: Endpoint }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button kind="primary" onClick={() => setOpen(true)}>
        {t("test.sendATestEvent")}
      </Button>
      <Sheet open={open} close={() => setOpen(false)} title={t("test.sendATestEvent")}>
        <Types endpoint={endpoint} close={() => setOpen(false)} />
      </Sheet>
    </>
  );
}

type Result = Attempt | "later" | null;

/** Reads the catalogue to see which types the patterns match. A type that has left it cannot be sent. */
function Types({ endpoint, close }: { endpoint: Endpoint; close: () => void }) {
  const { value, fault, again } = useRead("listEventTypes", {}, NONE);
  if (value === undefined) return fault === undefined ? <Loading lines={3} /> : <Trouble fault={fault} again={again} />;
  const known = value.data.map(({ name }) => name);
  const chosen = chosenOf(endpoint.events, known);
  // Patterns may match nothing today, but a sample of any type shows whether the receiver can be reached.
  return <Sending endpoint={endpoint} types={chosen.length > 0 ? chosen : known} close={close} />;
}

interface SendingProps {
  readonly endpoint: Endpoint;
  readonly types: readonly string[];
  readonly close: () => void;
}

function Sending({ endpoint, types, close }: SendingProps) {
  const [type, setType] = useState(types[0]!);
  const [result, setResult] = useState<Result>(null);
  const [act, call] = [useAct(), useCall()];
  const send = () =>
    act.run(async () => {
      setResult(null);
      const asked = { id: endpoint.id, body: { type }, query: { wait: true }, timeoutMs: TIMEOUT_MS };
      const answer = await call("sendTestEvent", asked);
      setResult("outcome" in answer ? answer : "later");
    });
  return (
    <>
      <p>{t("test.aSampleIsSentTo")}</p>
      <div className="field">
        <label htmlFor="test-type">{t("common.eventType")}</label>
        <select id="test-type" value={type} onChange={({ target }) => setType(target.value)}>
          {types.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </div>
      <div role="status" className="stack">
        {act.busy && <p className="alert wait">{t("test.onItsWay", { host: new URL(endpoint.url).host })}</p>}
        {result !== null && <Came result={result} />}
      </div>
      {act.fault && <Trouble fault={act.fault} />}
      <div className="actions">
        {result !== null && result !== "later" && (
          <a className="button" href={`#/${endpoint.id}/${result.delivery}`}>
            {t("test.seeTheWholeRequest")}
          </a>
        )}
        <Button onClick={close}>{t("test.close")}</Button>
        <Button kind="primary" busy={act.busy} onClick={() => unawaited(send())}>
          {result === null ? t("test.send") : t("test.sendAnother")}
        </Button>
      </div>
    </>
  );
}

function Came({ result }: { result: Attempt | "later" }) {
  if (result === "later") return <p className="alert wait">{t("test.itWasPublishedButNothing")}</p>;
  const isGood = result.outcome === "succeeded";
  return (
    <>
      <div className={`alert ${isGood ? "good" : "bad"}`}>
        <p>
          <strong>
            {isGood
              ? t("test.arrived", {
                  status: String(result.status_code),
                  duration: durationText(Math.round(result.duration_ms)),
                })
              : adviceFor(result).problem}
          </strong>{" "}
          {!isGood && adviceFor(result).fix}
        </p>
      </div>
      <AttemptAnswer attempt={result} />
    </>
  );
}
