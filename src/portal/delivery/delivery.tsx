/** Shows one delivery: its place on the ladder, its attempts with their results, and the request. */
import { useEffect, useState } from "react";
import type { ClientError } from "../../client/error.ts";
import type { Attempt, Delivery, Endpoint } from "../../client/operations.ts";
import { shortUrl } from "../endpoints/standing.ts";
import { useAct } from "../parts/act.ts";
import { Button } from "../parts/button.tsx";
import { Code, Copy } from "../parts/code.tsx";
import { indented } from "../parts/indented.ts";
import { Question } from "../parts/dialog.tsx";
import { useNotice } from "../parts/notice.tsx";
import { Empty, Loading, Trouble } from "../parts/states.tsx";
import { Status } from "../parts/status.tsx";
import { At, Until } from "../parts/time.tsx";
import { useCall, useCan, useRead, useSession } from "../session/session.ts";
import { useTitle } from "../session/title.ts";
import { AttemptRow } from "./attempt.tsx";
import { curlOf } from "./curl.ts";
import { type NoBody, sentBody } from "./envelope.ts";
import { Ladder } from "./ladder.tsx";
import { headOf, ownHeadersOf } from "./request-head.ts";
import { toneOf, wordOf } from "./words.ts";
import { unawaited } from "../../domain/unawaited.ts";

/** A delivery has more only if it was replayed more than a dozen times. */
const MOST_ATTEMPTS = 100;

export function DeliveryScreen({ endpoint: id, delivery }: { endpoint: string; delivery: string }) {
  const { value, fault, again } = useRead("getDelivery", { id: delivery }, id);
  useTitle(value === undefined ? "Delivery" : `${value.type} · Delivery`);
  const { value: endpoint } = useRead("getEndpoint", { id }, id);
  const sent = useSent(value?.event ?? null);
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
      <Head delivery={value} endpoint={endpoint} sent={sent} />
      {attempts !== undefined && !value.test && <Ladder delivery={value} attempts={attempts} />}
      <div className="columns">
        <section className="stack">
          <h2>Attempts</h2>
          {attempts === undefined ? <Loading /> : <Attempts attempts={attempts} />}
        </section>
        <section className="stack">
          <h2>Request</h2>
          <Request delivery={value} endpoint={endpoint} attempt={attempts?.[0]} sent={sent} />
        </section>
      </div>
    </>
  );
}

interface HeadProps {
  readonly delivery: Delivery;
  readonly endpoint: Endpoint | undefined;
  readonly sent: Sent;
}

function Head({ delivery, endpoint, sent }: HeadProps) {
  const { id, event, type, test } = delivery;
  return (
    <div className="head">
      <div className="title">
        <div className="name">
          <h1>
            <code>{type}</code>
          </h1>
          <p className="quiet ids">
            <span>
              Event <code>{event}</code> <Copy text={event} what="the event's id" />
            </span>
            <span>
              Delivery <code>{id}</code> <Copy text={id} what="the delivery's id" />
            </span>
            {test && <span>Test event</span>}
          </p>
        </div>
        <Acts delivery={delivery} disabled={endpoint?.enabled === false} sent={sent} />
      </div>
      <Facts delivery={delivery} publisherId={sent.publisherId} />
    </div>
  );
}

function Facts({ delivery, publisherId }: { delivery: Delivery; publisherId: string | null }) {
  const asked = { id: delivery.event, query: { endpoint: delivery.endpoint } };
  const why = useRead("explainEvent", asked, delivery.endpoint).value;
  const { status, attempts, received_at: receivedAt, next_attempt_at: nextAt } = delivery;
  return (
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
      {publisherId !== null && (
        <div>
          <dt>Publisher's id</dt>
          <dd>
            <code>{publisherId}</code>
          </dd>
        </div>
      )}
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
  );
}

function Acts({ delivery, disabled, sent }: { delivery: Delivery; disabled: boolean; sent: Sent }) {
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
      <Ending delivery={delivery} sent={sent} />
      {act.fault && <Trouble fault={act.fault} />}
    </div>
  );
}

/** Cancels what waits, and erases the data of the event, after a question. Neither can be undone. */
function Ending({ delivery: { event, endpoint, status }, sent }: { delivery: Delivery; sent: Sent }) {
  const mayManage = useCan("manage");
  const { portal } = useSession();
  const [asking, setAsking] = useState<"cancel" | "erase" | null>(null);
  const [act, call, say] = [useAct(), useCall(), useNotice()];
  const close = () => setAsking(null);
  const isOpen = status === "pending" || status === "held";
  const cancel = () =>
    act.run(async () => {
      await call("cancelEvent", { id: event, body: { endpoint } });
      say("Cancelled");
      close();
    });
  const erase = () =>
    act.run(async () => {
      await call("eraseEvent", { id: event });
      say("The data was erased");
      sent.again();
      close();
    });
  if (!mayManage) return null;
  return (
    <>
      {isOpen && <Button onClick={() => setAsking("cancel")}>Cancel</Button>}
      {sent.hasData && portal.endpoints === null && (
        <Button kind="danger" onClick={() => setAsking("erase")}>
          Erase the data
        </Button>
      )}
      <Question open={asking === "cancel"} close={close} title="Cancel this delivery?">
        <p>No more attempts are made to send this event to this endpoint. Other endpoints are not affected.</p>
        {act.fault && <Trouble fault={act.fault} />}
        <div className="actions">
          <Button onClick={close}>Keep it</Button>
          <Button kind="danger" className="primary" busy={act.busy} onClick={() => unawaited(cancel())}>
            Cancel the delivery
          </Button>
        </div>
      </Question>
      <Question open={asking === "erase"} close={close} title="Erase the data of this event?">
        <p>
          The event's data and all that your receivers answered to it are removed for good, and what still waits to be
          sent of it is cancelled, at every endpoint.
        </p>
        {act.fault && <Trouble fault={act.fault} />}
        <div className="actions">
          <Button onClick={close}>Keep it</Button>
          <Button kind="danger" className="primary" busy={act.busy} onClick={() => unawaited(erase())}>
            Erase it
          </Button>
        </div>
      </Question>
    </>
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

interface Sent {
  /** The daemon's answer about the event. Undefined until it has been read. */
  readonly answer: string | undefined;
  /** False once the event was erased. */
  readonly hasData: boolean;
  readonly publisherId: string | null;
  readonly fault: ClientError | undefined;
  readonly again: () => void;
}

function useSent(event: string | null): Sent {
  const { client } = useSession();
  const [read, setRead] = useState<string>();
  const [publisherId, setPublisherId] = useState<string | null>(null);
  const [fault, setFault] = useState<ClientError>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (event === null) return;
    const leaving = new AbortController();
    setFault(undefined);
    client.text("getEvent", { id: event, signal: leaving.signal }).then(
      (answer) => {
        setRead(answer);
        setPublisherId((JSON.parse(answer) as { publisher_id?: string | null }).publisher_id ?? null);
      },
      (error: unknown) => leaving.signal.aborted || setFault(error as ClientError),
    );
    return () => leaving.abort();
  }, [client, event, round]);
  const hasData = read === undefined || sentBody(read) !== "erased";
  return { answer: read, hasData, publisherId, fault, again: () => setRound(round + 1) };
}

const NO_BODY: Readonly<Record<NoBody, string>> = {
  erased: "The data of this event was erased, so the body that was sent is no longer kept.",
  unknown_format: "This page is older than the server, and does not know the format of this body. Reload the page.",
};

interface RequestProps {
  readonly delivery: Delivery;
  readonly endpoint: Endpoint | undefined;
  /** The latest one. */
  readonly attempt: Attempt | undefined;
  readonly sent: Sent;
}

/** No attempt records the settings that it was made with. */
function isChangedSince(endpoint: Endpoint | undefined, attempt: Attempt | undefined): boolean {
  if (endpoint === undefined || attempt === undefined) return false;
  return Date.parse(endpoint.updated_at) > Date.parse(attempt.started_at);
}

function Request({ delivery, endpoint, attempt, sent: { answer, fault, again } }: RequestProps) {
  const { portal } = useSession();
  const maySecrets = useCan("secrets");
  const call = useCall();
  if (fault !== undefined) return <Trouble fault={fault} again={again} />;
  if (answer === undefined) return <Loading lines={6} />;
  const sent = sentBody(answer, endpoint?.format);
  if (typeof sent === "string") return <p className="quiet">{NO_BODY[sent]}</p>;
  const own = ownHeadersOf(endpoint);
  const curl = async () => {
    const secret = maySecrets ? (await call("getSecret", { id: delivery.endpoint })).signing_secret : undefined;
    const { event } = delivery;
    return curlOf({ url: endpoint?.url ?? "", event, sent, secret, header: portal.signature_header, own });
  };
  return (
    <>
      {isChangedSince(endpoint, attempt) && (
        <p className="alert wait">
          <span>
            The endpoint was changed after this attempt. If its format or its headers are among the changes, the attempt
            was sent with the earlier ones. Below is what is sent now.
          </span>
        </p>
      )}
      <p className="label">Request line and main headers</p>
      <Code
        text={headOf({
          delivery,
          endpoint,
          sent,
          attempt,
          header: portal.signature_header,
          isStandard: portal.standard_webhooks,
        })}
        label="Request line and main headers"
        copy={null}
      />
      <p className="quiet">
        The signatures cover the body below, byte for byte. <a href={`#/${delivery.endpoint}/verify`}>Verify</a> says
        whether one matches, and why not.
      </p>
      <p className="label">Body, indented</p>
      <Code text={indented(sent.body)} label="Body, indented" copy={null} isJson />
      <div className="actions start">
        <Copy text={sent.body} what="the body as it is sent" word="Copy the body" />
        {endpoint !== undefined && <Copy text={curl} what="the request as a curl command" word="Copy as curl" />}
      </div>
      <p className="quiet">
        {maySecrets
          ? "The curl command is signed with the current secret."
          : "The curl command is not signed: this link may not read the secret."}
        {own.length > 0 && ` Fill in the values of your own headers (${own.join(", ")}): they are not shown again.`}
      </p>
    </>
  );
}
