/** Shows one endpoint: its state, its deliveries, and the actions on it. */
import { Tabs } from "@base-ui/react/tabs";
import { typeNotes } from "../types/notes.ts";
import type { EndpointWithHealth } from "../../client/operations.ts";
import { needsPrivateKey } from "../../domain/endpoints/endpoint.ts";
import { Deliveries } from "../deliveries/deliveries.tsx";
import { Activity } from "./activity.tsx";
import { EMPTY } from "../endpoints/draft.ts";
import { FORMATS, ORDERINGS, wordIn } from "../endpoints/sending-field.tsx";
import { shortUrl, standingWords } from "../endpoints/standing.ts";
import { filterText } from "../filter/reasons.ts";
import { Copy } from "../parts/code.tsx";
import { Empty, Loading, Trouble } from "../parts/states.tsx";
import { Deprecated, Status } from "../parts/status.tsx";
import { Ago, At } from "../parts/time.tsx";
import { Replays } from "../replay/replays.tsx";
import { Secrets } from "../secrets/secrets.tsx";
import { go } from "../session/route.ts";
import { NONE } from "../server/reads.ts";
import { useCan, useRead } from "../session/session.ts";
import { useTitle } from "../session/title.ts";
import { Verify } from "../verify/verify.tsx";
import { FailureNote } from "./failure-note.tsx";
import { HeldKey } from "./held-key.tsx";
import { Switching } from "./switching.tsx";
import { TestEvent } from "./test-event.tsx";
import { t } from "../language/text.ts";
import type { WordKey } from "../language/catalogue.ts";

const TABS = ["deliveries", "replays", "verify", "secret"] as const;
type Tab = (typeof TABS)[number];
const WORDS = {
  deliveries: "endpoint.deliveries",
  replays: "endpoint.replays",
  verify: "endpoint.verify",
  secret: "endpoint.secret",
} as const satisfies Readonly<Record<Tab, WordKey>>;

export function EndpointScreen({ id, tab }: { id: string; tab: string | undefined }) {
  const { value, fault, again } = useRead("getEndpoint", { id }, id);
  useTitle(value === undefined ? t("common.endpoint") : shortUrl(value.url));
  if (fault?.failure === "not_found" && value === undefined) return <Gone />;
  if (value === undefined) return fault ? <Trouble fault={fault} again={again} /> : <Loading lines={6} />;
  if (fault?.failure === "not_found") return <Gone />;
  return (
    <>
      <Back />
      <Head endpoint={value} />
      <FailureNote endpoint={value} />
      <HeldKey endpoint={value} />
      <Activity endpoint={id} />
      <Parts endpoint={value} tab={TABS.find((one) => one === tab) ?? "deliveries"} />
    </>
  );
}

function Gone() {
  return (
    <Empty title={t("endpoint.thereIsNoSuchEndpoint")}>
      <p>{t("endpoint.itWasDeletedOrThis")}</p>
      <a className="button" href="#/">
        {t("common.seeAllEndpoints")}
      </a>
    </Empty>
  );
}

function Back() {
  return (
    <nav className="back" aria-label={t("common.whereYouAre")}>
      <a href="#/">{t("common.endpoints")}</a>
    </nav>
  );
}

function Head({ endpoint }: { endpoint: EndpointWithHealth }) {
  const [mayManage, mayReplay] = [useCan("manage"), useCan("replay")];
  const { description } = endpoint;
  return (
    <div className="head">
      <div className="title">
        <div className="name">
          <h1 title={endpoint.url}>
            <bdi>{shortUrl(endpoint.url)}</bdi>
          </h1>
          <Copy text={endpoint.url} what={t("endpoint.theUrl")} word={t("endpoint.copyTheUrl")} />
          {description !== "" && (
            <p className="quiet">
              <bdi>{description}</bdi>
            </p>
          )}
        </div>
        <div className="actions">
          {mayReplay && endpoint.damaged === null && <TestEvent endpoint={endpoint} />}
          {mayManage && (
            <a className="button" href={`#/${endpoint.id}/edit`}>
              {t("endpoint.edit")}
            </a>
          )}
          {mayManage && <Switching endpoint={endpoint} />}
        </div>
      </div>
      <Facts endpoint={endpoint} />
    </div>
  );
}

function Facts({ endpoint }: { endpoint: EndpointWithHealth }) {
  const standing = standingWords(endpoint);
  const { events, filter, health, created_at: createdAt, uid, metadata } = endpoint;
  return (
    <dl className="facts">
      <div>
        <dt>{t("endpoint.now")}</dt>
        <dd className="with-status">
          <Status tone={standing.tone}>{standing.word}</Status> <span className="quiet">{standing.more}</span>
        </dd>
      </div>
      <div>
        <dt>{t("endpoint.lastSuccess")}</dt>
        <dd>{health.last_success_at === null ? t("endpoint.never") : <Ago at={health.last_success_at} />}</dd>
      </div>
      <div>
        <dt>{t("endpoint.added")}</dt>
        <dd>
          <At at={createdAt} />
        </dd>
      </div>
      {needsPrivateKey(endpoint) && (
        <div>
          <dt>{t("common.signatures")}</dt>
          <dd>{endpoint.signatures.includes("hmac") ? t("endpoint.both") : t("endpoint.bodyAndEd25519")}</dd>
        </div>
      )}
      <Limits endpoint={endpoint} />
      {endpoint.format !== EMPTY.format && (
        <div>
          <dt>{t("endpoint.format")}</dt>
          <dd>{wordIn(FORMATS, endpoint.format)}</dd>
        </div>
      )}
      {endpoint.ordering !== EMPTY.ordering && (
        <div>
          <dt>{t("common.order")}</dt>
          <dd>{wordIn(ORDERINGS, endpoint.ordering)}</dd>
        </div>
      )}
      {uid !== null && (
        <div>
          <dt>{t("endpoint.yourOwnId")}</dt>
          <dd>
            <code>{uid}</code>
          </dd>
        </div>
      )}
      <Chosen events={events} filter={filter} />
      {Object.keys(metadata).length > 0 && (
        <div className="wide">
          <dt>{t("endpoint.metadata")}</dt>
          <dd>
            <code>{JSON.stringify(metadata)}</code>
          </dd>
        </div>
      )}
    </dl>
  );
}

function Limits({ endpoint: { rate_per_second: rate, max_in_flight: atOnce } }: { endpoint: EndpointWithHealth }) {
  if (rate === null && atOnce === null) return null;
  const limits = [
    rate !== null && t("endpoint.rate", { count: rate }),
    atOnce !== null && t("endpoint.atOnce", { number: atOnce }),
  ];
  return (
    <div>
      <dt>{t("endpoint.atMost")}</dt>
      <dd>{limits.filter(Boolean).join(", ")}</dd>
    </div>
  );
}

/** Says too which types the patterns match today, and which types are on their way out. */
function Chosen({ events, filter }: Pick<EndpointWithHealth, "events" | "filter">) {
  const types = useRead("listEventTypes", {}, NONE).value?.data ?? [];
  return (
    <>
      <div className="wide">
        <dt>{t("common.events")}</dt>
        <dd className="type-list">
          {events.map((name) => (
            <span key={name} className="with-status">
              <code>{name}</code> {types.some((type) => type.name === name && type.deprecated) && <Deprecated />}
            </span>
          ))}
        </dd>
        {typeNotes(events, types).map((note) => (
          <dd key={note} className="quiet">
            {note}
          </dd>
        ))}
      </div>
      {filter && (
        <div className="wide">
          <dt>{t("common.filter")}</dt>
          <dd>{filterText(filter) ?? <code>{JSON.stringify(filter)}</code>}</dd>
        </div>
      )}
    </>
  );
}

function Parts({ endpoint, tab }: { endpoint: EndpointWithHealth; tab: Tab }) {
  const [maySecrets, mayReplay] = [useCan("secrets"), useCan("replay")];
  const shown = TABS.filter((one) => (one !== "secret" || maySecrets) && (one !== "replays" || mayReplay));
  const now = shown.includes(tab) ? tab : "deliveries";
  return (
    <Tabs.Root
      value={now}
      onValueChange={(value) => go(value === "deliveries" ? endpoint.id : `${endpoint.id}/${value}`)}
    >
      <Tabs.List className="tab-list" aria-label={t("endpoint.aboutThisEndpoint")}>
        {shown.map((one) => (
          <Tabs.Tab key={one} value={one} className="tab">
            {one === "secret" && needsPrivateKey(endpoint) ? t("endpoint.keys") : t(WORDS[one])}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value={now} className="tab-panel">
        {now === "deliveries" && <Deliveries endpoint={endpoint} />}
        {now === "replays" && <Replays endpoint={endpoint.id} />}
        {now === "verify" && <Verify endpoint={endpoint} />}
        {now === "secret" && <Secrets endpoint={endpoint} />}
      </Tabs.Panel>
    </Tabs.Root>
  );
}
