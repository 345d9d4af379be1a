/** Shows the screen that the fragment names. */
import { useEffect, useRef } from "react";
import { AllDeliveries } from "./deliveries/deliveries.tsx";
import { DeliveryScreen } from "./delivery/delivery.tsx";
import { EndpointScreen } from "./endpoint/endpoint.tsx";
import { AddEndpoint, EditEndpoint } from "./endpoints/form.tsx";
import { EndpointList } from "./endpoints/list.tsx";
import { TypeCatalogue } from "./types/types.tsx";
import { usePath } from "./session/route.ts";
import { Empty } from "./parts/states.tsx";
import { t } from "./language/text.ts";

export function Screens() {
  const path = usePath();
  const [first, second] = path;
  useFocusOnChange(second !== undefined && /^(dlv_|edit)/.test(second) ? `${first}/${second}` : (first ?? ""));
  if (first === undefined) return <EndpointList />;
  if (first === "deliveries") return <AllDeliveries />;
  if (first === "types") return <TypeCatalogue />;
  if (first === "new") return <AddEndpoint />;
  if (!/^ep_\w+$/.test(first))
    return <Empty title={t("screens.thereIsNothingHere")}>{<a href="#/">{t("common.seeAllEndpoints")}</a>}</Empty>;
  if (second === "edit") return <EditEndpoint key={first} id={first} />;
  if (second?.startsWith("dlv_")) return <DeliveryScreen key={second} endpoint={first} delivery={second} />;
  return <EndpointScreen key={first} id={first} tab={second} />;
}

/** Moves the focus when the screen changes, so that screen readers begin at its top. */
function useFocusOnChange(place: string): void {
  const before = useRef(place);
  useEffect(() => {
    if (before.current === place) return;
    before.current = place;
    scrollTo(0, 0);
    document.getElementById("main")?.focus({ preventScroll: true });
  }, [place]);
}
