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
import { t } from "../language/text.ts";
import { rich } from "../language/rich.tsx";
import { reasonFor } from "../language/api.ts";
import type { WordKey } from "../language/catalogue.ts";

/** A delivery has more only if it was replayed more than a dozen times. */
const MOST_ATTEMPTS = 100;

export function DeliveryScreen({ endpoint: id, delivery }: { endpoint: string; delivery: string }) {
  const { value, fault, again } = useRead("getDelivery", { id: delivery }, id);
  useTitle(value === undefined ? t("delivery.title") : `${value.type} · ${t("delivery.title")}`);
  const { value: endpoint } = useRead("getEndpoint", { id }, id);
  const sent = useSent(value?.event ?? null);
  const attempts = useRead("listDeliveryAttempts", { id: delivery, query: { limit: MOST_ATTEMPTS } }, id).value?.data;
  if (value === undefined) {
    if (fault?.failure === "not_found") return <Empty title={t("delivery.thereIsNoSuchDelivery")} />;
    return fault ? <Trouble fault={fault} again={again} /> : <Loading lines={6} />;
  }
  return (
    <>
      <nav className="back" aria-label={t("common.whereYouAre")}>
        <a href="#/">{t("common.endpoints")}</a>
        <a href={`#/${id}`}>{endpoint === undefined ? t("common.endpoint") : <bdi>{shortUrl(endpoint.url)}</bdi>}</a>
      </nav>
      <Head delivery={value} endpoint={endpoint} sent={sent} />
      {attempts !== undefined && !value.test && <Ladder delivery={value} attempts={attempts} />}
      <div className="columns">
        <section className="stack">
          <h2>{t("common.attempts")}</h2>
          {attempts === undefined ? <Loading /> : <Attempts attempts={attempts} />}
        </section>
        <section className="stack">
          <h2>{t("common.request")}</h2>
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
              {rich("delivery.eventId", { id: <code>{event}</code> })}{" "}
              <Copy text={event} what={t("delivery.theEventsId")} />
            </span>
            <span>
              {rich("delivery.deliveryId", { id: <code>{id}</code> })}{" "}
              <Copy text={id} what={t("delivery.theDeliverysId")} />
            </span>
            {test && <span>{t("delivery.testEvent")}</span>}
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
        <dt>{t("common.status")}</dt>
        <dd>
          <Status tone={toneOf(status, attempts)}>{wordOf(status, attempts)}</Status>
        </dd>
      </div>
      <div>
        <dt>{t("common.received")}</dt>
        <dd>
          <At at={receivedAt} />
        </dd>
      </div>
      {publisherId !== null && (
        <div>
          <dt>{t("delivery.publishersId")}</dt>
          <dd>
            <code>{publisherId}</code>
          </dd>
        </div>
      )}
      {status === "pending" && nextAt !== null && (
        <div>
          <dt>{t("delivery.nextAttempt")}</dt>
          <dd>
            <Until at={nextAt} />
          </dd>
        </div>
      )}
      {why !== undefined && (
        <div className="wide">
          <dt>{t("delivery.why")}</dt>
          <dd>{reasonFor(why)}</dd>
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
      say(t("common.itIsBeingSentAgain"));
    });
  const attempt = () =>
    act.run(async () => {
      await call("attemptDelivery", { id });
      say(t("delivery.anAttemptIsBeingMade"));
    });
  return (
    <div className="actions">
      {mayReplay && !disabled && (status === "failed" || status === "delivered") && (
        <Button kind={status === "failed" ? "primary" : "plain"} busy={act.busy} onClick={() => unawaited(replay())}>
          {t("delivery.replay")}
        </Button>
      )}
      {mayReplay && status === "pending" && delivery.attempts > 0 && (
        <Button busy={act.busy} onClick={() => unawaited(attempt())}>
          {t("delivery.attemptNow")}
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
      say(t("delivery.cancelled"));
      close();
    });
  const erase = () =>
    act.run(async () => {
      await call("eraseEvent", { id: event });
      say(t("delivery.theDataWasErased"));
      sent.again();
      close();
    });
  if (!mayManage) return null;
  return (
    <>
      {isOpen && <Button onClick={() => setAsking("cancel")}>{t("delivery.cancel")}</Button>}
      {sent.hasData && portal.endpoints === null && (
        <Button kind="danger" onClick={() => setAsking("erase")}>
          {t("delivery.eraseTheData")}
        </Button>
      )}
      <Question open={asking === "cancel"} close={close} title={t("delivery.cancelThisDelivery")}>
        <p>{t("delivery.noMoreAttemptsAreMade")}</p>
        {act.fault && <Trouble fault={act.fault} />}
        <div className="actions">
          <Button onClick={close}>{t("delivery.keepIt")}</Button>
          <Button kind="danger" className="primary" busy={act.busy} onClick={() => unawaited(cancel())}>
            {t("delivery.cancelTheDelivery")}
          </Button>
        </div>
      </Question>
      <Question open={asking === "erase"} close={close} title={t("delivery.eraseTheDataOfThis")}>
        <p>{t("delivery.theEventsDataAndAll")}</p>
        {act.fault && <Trouble fault={act.fault} />}
        <div className="actions">
          <Button onClick={close}>{t("delivery.keepIt")}</Button>
          <Button kind="danger" className="primary" busy={act.busy} onClick={() => unawaited(erase())}>
            {t("delivery.eraseIt")}
          </Button>
        </div>
      </Question>
    </>
  );
}

function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  return (
    <>
      {attempts.length === 0 && <p className="quiet">{t("delivery.noAttemptHasBeenMade")}</p>}
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

const NO_BODY = {
  erased: "delivery.erased",
  unknown_format: "delivery.unknownFormat",
} as const satisfies Readonly<Record<NoBody, WordKey>>;

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
  if (typeof sent === "string") return <p className="quiet">{t(NO_BODY[sent])}</p>;
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
          <span>{t("delivery.theEndpointWasChangedAfter")}</span>
        </p>
      )}
      <p className="label">{t("delivery.requestLineAndMainHeaders")}</p>
      <Code
        text={headOf({
          delivery,
          endpoint,
          sent,
          attempt,
          header: portal.signature_header,
          isStandard: portal.standard_webhooks,
        })}
        label={t("delivery.requestLineAndMainHeaders")}
        copy={null}
      />
      <p className="quiet">
        {rich("delivery.signaturesCover", {
          verify: (within) => <a href={`#/${delivery.endpoint}/verify`}>{within}</a>,
        })}
      </p>
      <p className="label">{t("delivery.bodyIndented")}</p>
      <Code text={indented(sent.body)} label={t("delivery.bodyIndented")} copy={null} isJson />
      <div className="actions start">
        <Copy text={sent.body} what={t("delivery.theBodyAsItIs")} word={t("delivery.copyTheBody")} />
        {endpoint !== undefined && (
          <Copy text={curl} what={t("delivery.theRequestAsACurl")} word={t("delivery.copyAsCurl")} />
        )}
      </div>
      <p className="quiet">
        {maySecrets ? t("delivery.curlSigned") : t("delivery.curlUnsigned")}{" "}
        {own.length > 0 && t("delivery.ownHeaders", { names: own.join(", ") })}
      </p>
    </>
  );
}
