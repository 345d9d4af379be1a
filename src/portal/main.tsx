/** The page that the daemon serves at `/portal`. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { CSPProvider } from "@base-ui/react/csp-provider";
import { App } from "./app.tsx";
import { takeKey } from "./session/key.ts";

// Before anything is drawn, which may take a moment: the key does not stay in the address for that long.
const key = takeKey();

createRoot(document.getElementById("page")!).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <App first={key} />
    </CSPProvider>
  </StrictMode>,
);
