/** The catalogue: every event type with its description, schema and sample, and which endpoints get it. */
import { useState } from "react";
import type { EventType } from "../../client/operations.ts";
import { shortUrl } from "../endpoints/standing.ts";
import { Code } from "../parts/code.tsx";
import { FindText, NothingFound } from "../parts/find.tsx";
import { Loading, Trouble } from "../parts/states.tsx";
import { Deprecated } from "../parts/status.tsx";
import { NONE } from "../server/reads.ts";
import { useFilters } from "../session/route.ts";
import { useRead } from "../session/session.ts";
import { useTitle } from "../session/title.ts";
import { lifeText } from "./notes.ts";
import { t } from "../language/text.ts";

const SOME = 20;

export function TypeCatalogue() {
  useTitle(t("common.eventTypes"));
  const [filters] = useFilters();
  const { value, fault, again } = useRead("listEventTypes", {}, NONE);
  if (value === undefined) return fault === undefined ? <Loading lines={6} /> : <Trouble fault={fault} again={again} />;
  const text = (filters.get("find") ?? "").toLowerCase();
  const found = value.data.filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(text));
  return (
    <>
      <div className="title">
        <h1>{t("common.eventTypes")}</h1>
      </div>
      <div className="stack">
        <div className="find">
          <FindText placeholder={t("types.partOfANameOr")} />
        </div>
        <p className="quiet" role="status">
          {text === "" ? t("list.types", { count: found.length }) : t("types.found", { count: found.length })}
        </p>
        {found.length === 0 ? (
          <NothingFound text={t("types.noneFits")} />
        ) : (
          <ul className="types card">
            {found.map((one) => (
              <Type key={one.name} type={one} />
            ))}
          </ul>
        )}
      </div>
    </>
  );
}

function Type({
  type: { name, description, schema, sample, archived, deprecated, deprecated_at: since, sunset_at: until },
}: {
  type: EventType;
}) {
  const [open, setOpen] = useState(false);
  return (
    <li>
      <div>
        <h2>
          <code>{name}</code> {deprecated && <Deprecated />}
        </h2>
        <p className="quiet" dir="auto">
          {description}
        </p>
        {(archived || since !== null) && (
          <p className="quiet">
            {lifeText(since, until)} {archived && t("types.archived")}
          </p>
        )}
        <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary className="quiet">{t("types.sampleSchemaAndWhoGets")}</summary>
          {open && (
            <div className="stack">
              <Receivers type={name} />
              <h3>{t("types.sample")}</h3>
              <Code text={JSON.stringify(sample, null, 2)} label={t("types.sampleOf", { name })} isJson />
              <h3>{t("types.jsonSchemaOfItsData")}</h3>
              <Code text={JSON.stringify(schema, null, 2)} label={t("types.schemaOf", { name })} isJson />
            </div>
          )}
        </details>
      </div>
    </li>
  );
}

function Receivers({ type }: { type: string }) {
  const query = { type, limit: SOME, total: true };
  const { value, fault, again } = useRead("listEndpoints", { query });
  if (value === undefined) return fault === undefined ? <Loading lines={1} /> : <Trouble fault={fault} again={again} />;
  if (value.data.length === 0) return <p>{t("types.noneOfYourEndpointsGets")}</p>;
  return (
    <div>
      <p>{value.total === undefined ? t("types.theseGet") : t("types.get", { count: value.total })}</p>
      <ul className="links">
        {value.data.map(({ id, url }) => (
          <li key={id}>
            <a href={`#/${id}`}>
              <bdi>{shortUrl(url)}</bdi>
            </a>
          </li>
        ))}
      </ul>
      {value.next_cursor !== null && <a href={`#/?type=${encodeURIComponent(type)}`}>{t("types.seeAllOfThem")}</a>}
    </div>
  );
}
