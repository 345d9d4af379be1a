/** Lists the deliveries to an endpoint, newest first. */
import { useState } from "react";
import type { Delivery, EndpointWithHealth } from "../../client/operations.ts";
import { answerText, toneOf, wordOf } from "../delivery/words.ts";
import { Button } from "../parts/button.tsx";
import { Choices } from "../parts/choices.tsx";
import { Loading, Trouble } from "../parts/states.tsx";
import { Status } from "../parts/status.tsx";
import { Ago, Until } from "../parts/time.tsx";
import { useRead } from "../session/session.ts";
import { MissingEvent } from "./missing-event.tsx";

const CHOICES = {
  all: ["All", {}],
  failed: ["Failed", { status: "failed" }],
  waiting: ["Waiting", { status: "pending,held" }],
  delivered: ["Delivered", { status: "delivered" }],
  test: ["Test events", { test: true }],
} as const;
type Choice = keyof typeof CHOICES;
const WORDS = (Object.keys(CHOICES) as Choice[]).map((one) => [one, CHOICES[one][0]] as const);

const PAGE = 25;

export function Deliveries({ endpoint }: { endpoint: EndpointWithHealth }) {
  const [choice, setChoice] = useState<Choice>("all");
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const query = { endpoint: endpoint.id, limit: PAGE, cursor: cursors.at(-1), ...CHOICES[choice][1] };
  const { value, fault, again } = useRead("listDeliveries", { query }, endpoint.id);
  const choose = (next: Choice) => (setChoice(next), setCursors([]));
  return (
    <>
      <Choices label="Which deliveries" all={WORDS} chosen={choice} choose={choose} />
      {value === undefined && (fault ? <Trouble fault={fault} again={again} /> : <Loading lines={6} />)}
      {value?.data.length === 0 && <None choice={choice} />}
      {value !== undefined && value.data.length > 0 && <Rows deliveries={value.data} />}
      <nav className="pages" aria-label="Pages">
        {cursors.length > 0 && <Button onClick={() => setCursors(cursors.slice(0, -1))}>Newer</Button>}
        {value?.next_cursor && <Button onClick={() => setCursors([...cursors, value.next_cursor!])}>Older</Button>}
      </nav>
      <MissingEvent key={endpoint.id} endpoint={endpoint.id} />
    </>
  );
}

function None({ choice }: { choice: Choice }) {
  const words: Readonly<Record<Choice, readonly [string, string]>> = {
    all: ["No event has been sent yet", "Events are listed here as they happen; test events have their own list."],
    failed: ["Nothing has failed", "Deliveries that have used up their retries will be listed here."],
    waiting: ["Nothing is waiting", "Deliveries that will be retried are listed here."],
    delivered: ["Nothing has been delivered yet", "Deliveries that your receiver accepted will be listed here."],
    test: [
      "No test events",
      "Test events are samples. They are listed only here, and are not counted in any statistics.",
    ],
  };
  const [title, text] = words[choice];
  return (
    <div className="empty slim">
      <h2>{title}</h2>
      <p>{text}</p>
    </div>
  );
}

function Rows({ deliveries }: { deliveries: readonly Delivery[] }) {
  return (
    <table className="card deliveries">
      <thead>
        <tr>
          <th scope="col">Status</th>
          <th scope="col">Event</th>
          <th scope="col">Last answer</th>
          <th scope="col" className="end">
            Received
          </th>
        </tr>
      </thead>
      <tbody>
        {deliveries.map((delivery) => (
          <Row key={delivery.id} delivery={delivery} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ delivery }: { delivery: Delivery }) {
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
        </a>
      </td>
      <td className="answer">
        <span>{last === null ? "–" : answerText(last)}</span>
        {status === "pending" && nextAt !== null && attempts > 0 && (
          <span className="quiet">
            next attempt <Until at={nextAt} />
          </span>
        )}
      </td>
      <td className="end quiet">
        <Ago at={delivery.received_at} />
      </td>
    </tr>
  );
}
