/** Lists all endpoints with their states. */
import { isPattern } from "../../domain/events/pattern.ts";
import type { Query } from "../../client/client.ts";
import type { Answers, ListedEndpoint } from "../../client/operations.ts";
import { Clear, FindSelect, FindText, FindType, isNarrowedBy, NothingFound } from "../parts/find.tsx";
import { type Cursors, Pages, useCursors } from "../parts/pages.tsx";
import { Empty, Loading, Trouble } from "../parts/states.tsx";
import { Sparkline } from "../parts/sparkline.tsx";
import { Status } from "../parts/status.tsx";
import { Ago } from "../parts/time.tsx";
import { NONE } from "../server/reads.ts";
import { useFilters } from "../session/route.ts";
import { useCan, useRead, useSession } from "../session/session.ts";
import { useTitle } from "../session/title.ts";
import { afterMessage } from "./row-changes.ts";
import { shortUrl, STANDING_WORD, standingWords } from "./standing.ts";
import { t } from "../language/text.ts";
import { rich } from "../language/rich.tsx";

const PAGE = 20;

const NAMES = ["find", "state", "type", "sort"] as const;
const STATES = [["", "list.allStates"], ...Object.entries(STANDING_WORD)] as const;
const SORTS = [
  ["", "list.newest"],
  ["failing", "list.mostFailures"],
  ["host", "list.byHost"],
  ["last_success", "list.longestWithout"],
] as const;

export function EndpointList() {
  const { portal } = useSession();
  const [filters] = useFilters();
  const [cursors, setCursors] = useCursors();
  useTitle(t("common.endpoints"));
  const mayAdd = useCan("manage") && portal.endpoints === null;
  const { value, fault, again } = useRead("listEndpoints", { query: queryOf(filters, cursors) }, null, afterMessage);
  const isNarrowed = isNarrowedBy(NAMES, filters);
  const isEmpty = value?.data.length === 0 && cursors.length === 0 && value.next_cursor === null;
  if (isEmpty && !isNarrowed) return <NoEndpoints mayAdd={mayAdd} />;
  return (
    <>
      <div className="title">
        <h1>{t("common.endpoints")}</h1>
        {mayAdd && (
          <a className="button primary" href="#/new">
            {t("list.addAnEndpoint")}
          </a>
        )}
      </div>
      <div className="stack">
        <Tools />
        {value === undefined && (fault === undefined ? <Loading lines={5} /> : <Trouble fault={fault} again={again} />)}
        {value !== undefined && <Summary list={value} isNarrowed={isNarrowed} />}
        {isEmpty && <NothingFound text={t("list.noneFits")} />}
        {value !== undefined && value.data.length > 0 && (
          <ul className="card endpoints">
            {value.data.map((endpoint) => (
              <Row key={endpoint.id} endpoint={endpoint} />
            ))}
          </ul>
        )}
        <Pages
          words={filters.has("sort") ? [t("list.previous"), t("list.next")] : undefined}
          cursors={cursors}
          set={setCursors}
          next={value?.next_cursor ?? null}
        />
      </div>
    </>
  );
}

function queryOf(filters: URLSearchParams, cursors: Cursors): Query {
  const asked = (name: string) => filters.get(name) ?? undefined;
  return {
    limit: PAGE,
    cursor: cursors.at(-1),
    match: asked("find"),
    standing: asked("state"),
    type: asked("type"),
    sort: asked("sort"),
    include: "health,recent,failing",
    total: true,
  };
}

/** Says how many fail of all endpoints, whatever is shown. */
function Summary({
  list: { failing = 0, total },
  isNarrowed,
}: {
  list: Answers["listEndpoints"];
  isNarrowed: boolean;
}) {
  return (
    <p className="quiet" role="status">
      {isNarrowed && total !== undefined && t("list.found", { count: total })}{" "}
      {failing === 0 && !isNarrowed && total !== undefined && t("list.noneFailing", { count: total })}
      {failing > 0 && (
        <a href="#/?state=failing">
          {isNarrowed || total === undefined
            ? t("list.failing", { count: failing })
            : t("list.failingOf", { count: failing, all: total })}
        </a>
      )}
    </p>
  );
}

function Tools() {
  return (
    <div className="find">
      <FindText placeholder={t("list.partOfAUrlA")} />
      <FindSelect
        name="state"
        label={t("list.state")}
        options={STATES.map(([value, key]) => [value, t(key)] as const)}
      />
      <FindType />
      <FindSelect
        name="sort"
        label={t("common.order")}
        options={SORTS.map(([value, key]) => [value, t(key)] as const)}
      />
      <Clear names={NAMES} />
    </div>
  );
}

function NoEndpoints({ mayAdd }: { mayAdd: boolean }) {
  return (
    <Empty title={t("list.noEndpointsYet")}>
      <p>{t("list.anEndpointIsAUrl")}</p>
      {mayAdd && (
        <a className="button primary" href="#/new">
          {t("list.addAnEndpoint")}
        </a>
      )}
    </Empty>
  );
}

function Row({ endpoint }: { endpoint: ListedEndpoint }) {
  const { portal, tenant } = useSession();
  const { health, recent } = endpoint;
  const standing = health && standingWords({ ...endpoint, health });
  const types = useRead("listEventTypes", {}, NONE).value?.data ?? [];
  const isLeaving = types.some(({ name, deprecated }) => deprecated && endpoint.events.includes(name));
  const patterns = endpoint.events.filter(isPattern);
  const events =
    endpoint.events.length === 1 || patterns.length > 0
      ? endpoint.events.join(", ")
      : t("list.types", { count: endpoint.events.length });
  return (
    <li>
      <a className="who" href={`#/${endpoint.id}`}>
        <bdi className="url">{shortUrl(endpoint.url)}</bdi>
        <span className="quiet">
          {portal.tenant === "*" && tenant === undefined && `${endpoint.tenant} · `}
          <bdi>{endpoint.description === "" ? events : endpoint.description}</bdi>
          {isLeaving && ` · ${t("list.deprecated")}`}
        </span>
      </a>
      <div className="standing">
        {standing && <Status tone={standing.tone}>{standing.word}</Status>}
        <span className="quiet">
          {health &&
            (health.last_success_at === null ? t("list.neverSucceeded") : <LastSuccess at={health.last_success_at} />)}
        </span>
      </div>
      <div className="day">
        {recent && (
          <Sparkline bars={recent.succeeded.map((succeeded, at) => ({ succeeded, failed: recent.failed[at]! }))} />
        )}
      </div>
    </li>
  );
}

function LastSuccess({ at }: { at: string }) {
  return rich("list.succeeded", { ago: <Ago at={at} /> });
}
