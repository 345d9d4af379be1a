/** An operator's choice among the tenants. */
import { go } from "./route.ts";
import { useRead, useSession } from "./session.ts";

/** More would make a list of names that nobody reads; they have links of their own. */
const MANY = 100;

export function TenantSwitch() {
  const { tenant, chooseTenant, reads } = useSession();
  const { value } = useRead("listTenants", { query: { limit: MANY } });
  const names = value?.data.map(({ name }) => name) ?? [];
  return (
    <label className="tenants">
      <span className="quiet">Tenant</span>
      <select
        value={tenant ?? ""}
        onChange={({ target }) => {
          reads.clear();
          chooseTenant(target.value === "" ? undefined : target.value);
          go("");
        }}
      >
        <option value="">All</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
