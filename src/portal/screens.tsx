/** Which screen the fragment names. */
import { useEffect, useRef } from "react";
import { EndpointList } from "./endpoints/list.tsx";
import { usePath } from "./session/route.ts";
import { Empty } from "./parts/states.tsx";

export function Screens() {
  const path = usePath();
  useFocusOnChange(path.slice(0, 2).join("/"));
  const [first] = path;
  if (first === undefined) return <EndpointList />;
  return <Empty title="There is nothing here">{<a href="#/">See all endpoints</a>}</Empty>;
}

/** A new screen begins at its top, for screen readers too. */
function useFocusOnChange(place: string): void {
  const before = useRef(place);
  useEffect(() => {
    if (before.current === place) return;
    before.current = place;
    scrollTo(0, 0);
    document.getElementById("main")?.focus({ preventScroll: true });
  }, [place]);
}
