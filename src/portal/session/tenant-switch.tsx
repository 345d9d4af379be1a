/** Lets an operator choose a tenant. */
import { go } from "./route.ts";
import { useRead, useSession } from "./session.ts";

/** Nobody reads a longer list of names. Other tenants can be opened by their own links. */
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
