/** The fields that find deliveries: by any id, a field of the data, the type, the error and the time. */
import { ATTEMPT_ERRORS } from "../../domain/deliveries/attempt.ts";
import { causeText } from "../delivery/words.ts";
import { Clear, FindSelect, FindText, FindType } from "../parts/find.tsx";
import { InstantField } from "../parts/instant-field.tsx";
import { useFilters } from "../session/route.ts";
import { NAMES } from "./search.ts";
import { t } from "../language/text.ts";

export function Find() {
  const errors = ATTEMPT_ERRORS.map(
    (error) => [error, error === "http_status" ? t("find.otherStatus") : causeText(error, null)] as const,
  );
  return (
    <div className="find">
      <FindText placeholder={t("find.eventIdYourOwnId")} />
      <FindType />
      <FindSelect name="error" label={t("find.lastError")} options={[["", t("find.any")], ...errors]} />
      <div className="period">
        <Instant name="since" label={t("common.from")} />
        <Instant name="until" label={t("common.to")} />
      </div>
      <Clear names={NAMES} />
    </div>
  );
}

function Instant({ name, label }: { name: string; label: string }) {
  const [filters, set] = useFilters();
  return (
    <InstantField label={label} instant={filters.get(name)} change={(instant) => set({ [name]: instant ?? "" })} />
  );
}
