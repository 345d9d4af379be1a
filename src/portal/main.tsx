/** The page that the daemon serves at `/portal`. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { CSPProvider } from "@base-ui/react/csp-provider";
import { App } from "./app.tsx";
import { unawaited } from "../domain/unawaited.ts";
import { chooseLanguage } from "./language/choice.ts";
import { keptKey, takeKey } from "./session/key.ts";
import { applyTheme } from "./session/theme.ts";

// Take the key before rendering, which may take a moment, so that it leaves the address bar at once.
const key = takeKey() ?? keptKey();
applyTheme();

async function draw(): Promise<void> {
  await chooseLanguage();
  createRoot(document.getElementById("page")!).render(
    <StrictMode>
      <CSPProvider disableStyleElements>
        <App first={key} />
      </CSPProvider>
    </StrictMode>,
  );
}

unawaited(draw());
