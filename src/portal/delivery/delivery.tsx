/** Shows one delivery: its place on the ladder, its attempts with their results, and the request. */
import { useEffect, useState } from "react";
import type { ClientError } from "../../client/error.ts";
import type { Attempt, Delivery, Endpoint } from "../../client/operations.ts";
import { shortUrl } from "../endpoints/standing.ts";
import { useAct } from "../parts/act.ts";
import { Button } from "../parts/button.tsx";
import { Code, Copy } from "../parts/code.tsx";
import { indented } from "../parts/indented.ts";
import { useNotice } from "../parts/notice.tsx";
import { Empty, Loading, Trouble } from "../parts/states.tsx";
import { Status } from "../parts/status.tsx";
import { At, Until } from "../parts/time.tsx";
import { useCall, useCan, useRead, useSession } from "../session/session.ts";
import { useTitle } from "../session/title.ts";
import { AttemptRow } from "./attempt.tsx";
import { curlOf } from "./curl.ts";
import { envelopeOf } from "./envelope.ts";
import { Ladder } from "./ladder.tsx";
import { toneOf, wordOf } from "./words.ts";
import { unawaited } from "../../domain/unawaited.ts";

/** A delivery has more only if it was replayed more than a dozen times. */
const MOST_ATTEMPTS = 100;

export function DeliveryScreen({ endpoint: id, delivery }: { endpoint: string; delivery: string }) {
  const { value, fault, again } = useRead("getDelivery", { id: delivery }, id);
  useTitle(value === undefined ? "Delivery" : `${value.type} · Delivery`);
  const { value: endpoint } = useRead("getEndpoint", { id }, id);
  const attempts = useRead("listDeliveryAttempts", { id: delivery, query: { limit: MOST_ATTEMPTS } }, id).value?.data;
  if (value === undefined) {
    if (fault?.failure === "not_found") return <Empty title="There is no such delivery" />;
    return fault ? <Trouble fault={fault} again={again} /> : <Loading lines={6} />;
  }
  return (
    <>
      <nav className="back" aria-label="Where you are">
        <a href="#/">Endpoints</a>
        <a href={`#/${id}`}>{endpoint === undefined ? "Endpoint" : <bdi>{shortUrl(endpoint.url)}</bdi>}</a>
      </nav>
      <Head delivery={value} endpoint={endpoint} />
      {attempts !== undefined && !value.test && <Ladder delivery={value} attempts={attempts} />}
      <div className="columns">
        <section className="stack">
          <h2>Attempts</h2>
          {attempts === undefined ? <Loading /> : <Attempts attempts={attempts} />}
        </section>
        <section className="stack">
          <h2>Request</h2>
          <Body delivery={value} url={endpoint?.url} />
        </section>
      </div>
    </>
  );
}

function Head({ delivery, endpoint }: { delivery: Delivery; endpoint: Endpoint | undefined }) {
  const asked = { id: delivery.event, query: { endpoint: delivery.endpoint } };
  const why = useRead("explainEvent", asked, delivery.endpoint).value;
  const { type, status, attempts, event, received_at: receivedAt, next_attempt_at: nextAt, test } = delivery;
  return (
    <div className="head">
      <div className="title">
        <div className="name">
          <h1>
            <code>{type}</code>
          </h1>
          <p className="quiet">
            <code>{event}</code>
            {test && " · test event"}
          </p>
        </div>
        <Acts delivery={delivery} disabled={endpoint?.enabled === false} />
      </div>
      <dl className="facts">
        <div>
          <dt>Status</dt>
          <dd>
            <Status tone={toneOf(status, attempts)}>{wordOf(status, attempts)}</Status>
          </dd>
        </div>
        <div>
          <dt>Received</dt>
          <dd>
            <At at={receivedAt} />
          </dd>
        </div>
        {status === "pending" && nextAt !== null && (
          <div>
            <dt>Next attempt</dt>
            <dd>
              <Until at={nextAt} />
            </dd>
          </div>
        )}
        {why !== undefined && (
          <div className="wide">
            <dt>Why</dt>
            <dd>{why.sentence}</dd>
          </div>
        )}
      </dl>
    </div>
  );
}

function Acts({ delivery, disabled }: { delivery: Delivery; disabled: boolean }) {
  const mayReplay = useCan("replay");
  const [act, call, say] = [useAct(), useCall(), useNotice()];
  const { id, status, event, endpoint } = delivery;
  const replay = () =>
    act.run(async () => {
      const force = status === "delivered";
      await call("replayEvent", { id: event, body: { endpoint, ...(force && { force }) } });
      say("It is being sent again");
    });
  const attempt = () =>
    act.run(async () => {
      await call("attemptDelivery", { id });
      say("An attempt is being made");
    });
  return (
    <div className="actions">
      {mayReplay && !disabled && (status === "failed" || status === "delivered") && (
        <Button kind={status === "failed" ? "primary" : "plain"} busy={act.busy} onClick={() => unawaited(replay())}>
          Replay
        </Button>
      )}
      {mayReplay && status === "pending" && delivery.attempts > 0 && (
        <Button busy={act.busy} onClick={() => unawaited(attempt())}>
          Attempt now
        </Button>
      )}
      {act.fault && <Trouble fault={act.fault} />}
    </div>
  );
}

function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  return (
    <>
      {attempts.length === 0 && <p className="quiet">No attempt has been made yet.</p>}
      <ol className="attempts card" hidden={attempts.length === 0}>
        {attempts.map((attempt, at) => (
          <AttemptRow key={attempt.id} attempt={attempt} open={at === 0} />
        ))}
      </ol>
    </>
  );
}

/** The body is undefined until it has been read, and null if the event was erased. */
function useBody(event: string) {
  const { client } = useSession();
  const [body, setBody] = useState<string | null>();
  const [fault, setFault] = useState<ClientError>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    const leaving = new AbortController();
    setFault(undefined);
    client.text("getEvent", { id: event, signal: leaving.signal }).then(
      (answer) => setBody(envelopeOf(answer)),
      (error: unknown) => leaving.signal.aborted || setFault(error as ClientError),
    );
    return () => leaving.abort();
  }, [client, event, round]);
  return { body, fault, again: () => setRound(round + 1) };
}

function Body({ delivery: { event, endpoint }, url }: { delivery: Delivery; url: string | undefined }) {
  const { portal } = useSession();
  const { body, fault, again } = useBody(event);
  const maySecrets = useCan("secrets");
  const call = useCall();
  if (fault !== undefined) return <Trouble fault={fault} again={again} />;
  if (body === undefined) return <Loading lines={6} />;
  if (body === null)
    return <p className="quiet">The data of this event was erased, so the body that was sent is no longer kept.</p>;
  const curl = async () => {
    const secret = maySecrets ? (await call("getSecret", { id: endpoint })).signing_secret : undefined;
    return curlOf({ url: url ?? "", event, body, secret, header: portal.signature_header });
  };
  return (
    <>
      <Code text={indented(body)} label="Body, indented" copy={null} />
      <div className="actions start">
        <Copy text={body} what="the body as it is sent" word="Copy the body" />
        {url !== undefined && <Copy text={curl} what="the request as a curl command" word="Copy as curl" />}
      </div>
      <p className="quiet">
        {maySecrets
          ? "The curl command is signed with the current secret."
          : "The curl command is not signed: this link may not read the secret."}
      </p>
    </>
  );
}
