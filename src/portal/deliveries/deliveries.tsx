/** Lists deliveries, newest first: those to one endpoint, or to all of them. */
import type { Delivery, Endpoint } from "../../client/operations.ts";
import { answerText, toneOf, wordOf } from "../delivery/words.ts";
import { MissingEvent } from "../endpoint/missing-event.tsx";
import { shortUrl } from "../endpoints/standing.ts";
import { Choices } from "../parts/choices.tsx";
import { isNarrowedBy, NothingFound } from "../parts/find.tsx";
import { Pages, useCursors } from "../parts/pages.tsx";
import { Loading, Trouble } from "../parts/states.tsx";
import { Status } from "../parts/status.tsx";
import { Ago, Until } from "../parts/time.tsx";
import { NONE } from "../server/reads.ts";
import { useFilters } from "../session/route.ts";
import { useRead } from "../session/session.ts";
import { useTitle } from "../session/title.ts";
import { Find } from "./find.tsx";
import { NAMES, queryOf, SHOWN, type Shown, shownOf } from "./search.ts";
import { t } from "../language/text.ts";
import { rich } from "../language/rich.tsx";
import type { WordKey } from "../language/catalogue.ts";

const PAGE = 25;
const MANY = 100;

/** All deliveries of the tenant, whichever endpoint they go to. */
export function AllDeliveries() {
  useTitle(t("common.deliveries"));
  return (
    <>
      <div className="title">
        <h1>{t("common.deliveries")}</h1>
      </div>
      <div className="stack">
        <Deliveries endpoint={null} />
      </div>
    </>
  );
}

export function Deliveries({ endpoint }: { endpoint: Endpoint | null }) {
  const [filters, set] = useFilters();
  const shown = shownOf(filters);
  return (
    <>
      <Choices
        label={t("deliveries.whichDeliveries")}
        all={(Object.keys(SHOWN) as Shown[]).map((one) => [one, t(SHOWN[one][0])] as const)}
        chosen={shown}
        choose={(next) => set({ show: next === "all" ? "" : next })}
      />
      <Find />
      <Found endpoint={endpoint} />
      {endpoint !== null && <MissingEvent key={endpoint.id} endpoint={endpoint.id} />}
    </>
  );
}

function Found({ endpoint }: { endpoint: Endpoint | null }) {
  const [filters] = useFilters();
  const [cursors, setCursors] = useCursors();
  const isNarrowed = isNarrowedBy(NAMES, filters);
  const query = { endpoint: endpoint?.id, limit: PAGE, cursor: cursors.at(-1), ...queryOf(filters) };
  const { value, fault, again } = useRead("listDeliveries", { query }, endpoint?.id ?? null);
  if (fault !== undefined && (value === undefined || fault.failure === "usage"))
    return <Trouble fault={fault} again={again} />;
  if (value === undefined) return <Loading lines={6} />;
  const isEmpty = value.data.length === 0 && value.next_cursor === null && cursors.length === 0;
  return (
    <>
      {isEmpty && (isNarrowed ? <NothingFound text={t("deliveries.noneFits")} /> : <None choice={shownOf(filters)} />)}
      {value.data.length > 0 && <Rows deliveries={value.data} isOfAll={endpoint === null} />}
      {value.searched !== undefined && value.searched.until !== null && (
        <p className="quiet" role="status">
          {t("deliveries.searched", { events: value.searched.events })}
        </p>
      )}
      <Pages cursors={cursors} set={setCursors} next={value.next_cursor} />
    </>
  );
}

const NONE_OF = {
  all: ["deliveries.none.all", "deliveries.none.allMore"],
  failed: ["deliveries.none.failed", "deliveries.none.failedMore"],
  open: ["deliveries.none.open", "deliveries.none.openMore"],
  waiting: ["deliveries.none.waiting", "deliveries.none.waitingMore"],
  delivered: ["deliveries.none.delivered", "deliveries.none.deliveredMore"],
  test: ["deliveries.none.test", "deliveries.none.testMore"],
} as const satisfies Readonly<Record<Shown, readonly [WordKey, WordKey]>>;

function None({ choice }: { choice: Shown }) {
  const [title, text] = NONE_OF[choice];
  return (
    <div className="empty slim">
      <h2>{t(title)}</h2>
      <p>{t(text)}</p>
    </div>
  );
}

function Rows({ deliveries, isOfAll }: { deliveries: readonly Delivery[]; isOfAll: boolean }) {
  // One answer names all endpoints, or most of them.
  const urls = useRead("listEndpoints", isOfAll ? { query: { limit: MANY } } : null, NONE).value?.data;
  const urlOf = (id: string) => urls?.find((one) => one.id === id)?.url ?? id;
  return (
    <table className="card deliveries">
      <thead>
        <tr>
          <th scope="col">{t("common.status")}</th>
          <th scope="col">{t("deliveries.event")}</th>
          <th scope="col">{t("deliveries.lastAnswer")}</th>
          <th scope="col" className="end">
            {t("common.received")}
          </th>
        </tr>
      </thead>
      <tbody>
        {deliveries.map((delivery) => (
          <Row key={delivery.id} delivery={delivery} to={isOfAll ? shortUrl(urlOf(delivery.endpoint)) : null} />
        ))}
      </tbody>
    </table>
  );
}

/** `to` is where it goes to, if the list has several endpoints. */
function Row({ delivery, to }: { delivery: Delivery; to: string | null }) {
  const { id, endpoint, event, type, status, attempts, next_attempt_at: nextAt, last_attempt: last } = delivery;
  return (
    <tr>
      <td>
        <Status tone={toneOf(status, attempts)}>{wordOf(status, attempts)}</Status>
      </td>
      <td className="what">
        <a className="who" href={`#/${endpoint}/${id}`}>
          <code>{type}</code>
          <span className="quiet">
            <code>{event}</code>
          </span>
          {to !== null && <span className="quiet">{rich("deliveries.to", { url: <bdi>{to}</bdi> })}</span>}
        </a>
      </td>
      <td className="answer">
        <span>{last === null ? "–" : answerText(last)}</span>
        {status === "pending" && nextAt !== null && attempts > 0 && (
          <span className="quiet">{rich("deliveries.nextAttempt", { until: <Until at={nextAt} /> })}</span>
        )}
      </td>
      <td className="end quiet">
        <Ago at={delivery.received_at} />
      </td>
    </tr>
  );
}
