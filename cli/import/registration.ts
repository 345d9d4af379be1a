/** The registration that makes an endpoint as it is at the other sender. */
import { type Mark, MARK, markFor } from "./comparison.ts";
import type { EndpointDraft } from "./described.ts";

/**
 * Until the next secret of a rotation is here too, the mark says that the endpoint is not done. While it is disabled,
 * it skips events, because the other sender sends them.
 */
export function registrationOf(draft: EndpointDraft, whose: Pick<Mark, "from" | "id">, enable: boolean) {
  const { url, events, filter, description, headers, rate_per_second, metadata, format, secrets } = draft;
  const mark = markFor(whose, draft);
  return {
    url,
    events,
    filter,
    description,
    headers,
    rate_per_second,
    format,
    metadata: { ...metadata, [MARK]: secrets.next === null ? mark : { ...mark, secret: "" } },
    when_disabled: "skip",
    enabled: enable && draft.enabled,
    secret: secrets.current,
  };
}
