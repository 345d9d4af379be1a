/** The fields that find deliveries: by any id, a field of the data, the type, the error and the time. */
import { ATTEMPT_ERRORS, causeText } from "../../domain/deliveries/attempt.ts";
import { Clear, FindSelect, FindText, FindType } from "../parts/find.tsx";
import { InstantField } from "../parts/instant-field.tsx";
import { useFilters } from "../session/route.ts";
import { NAMES } from "./search.ts";

const ERRORS = ATTEMPT_ERRORS.map(
  (error) => [error, error === "http_status" ? "a status other than 2xx" : causeText(error, null)] as const,
);

export function Find() {
  return (
    <div className="find">
      <FindText placeholder="Event id, your own id, or customer.id:cus_123" />
      <FindType />
      <FindSelect name="error" label="Last error" options={[["", "Any"], ...ERRORS]} />
      <div className="period">
        <Instant name="since" label="From" />
        <Instant name="until" label="To" />
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
