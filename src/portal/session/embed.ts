/**
 * The messages between the page in a frame and the page around it, by `postMessage`. None has a secret from here, so any
 * page that may frame this one may read them; `[portal] frame_ancestors` says which may.
 */
import { useEffect } from "react";
import { isFramed } from "./back-link.tsx";

/** Sent to the page around the frame. */
type FromPortal =
  /** The customer sees the page. */
  | { readonly portal: "ready" }
  /** The height of all of it, in CSS pixels. */
  | { readonly portal: "height"; readonly height: number }
  /** The link ends soon. Answer with another one. */
  | { readonly portal: "expiring"; readonly expires_at: string }
  /** The link has ended, or did not work from the start. Another one goes on with the same screen. */
  | { readonly portal: "ended" }
  /** The customer went to another screen, or changed a filter; `path` is what comes after the `#` of the address. */
  | { readonly portal: "navigate"; readonly path: string };

/** Sent by the page around the frame. */
interface ToPortal {
  readonly portal: "link";
  /** The `url` of a new link for the same tenant. */
  readonly url: string;
}

export function tellHost(message: FromPortal): void {
  if (isFramed) window.parent.postMessage(message, "*");
}

/** Tells the height and the screen whenever they change. */
export function useHost(open: (key: string) => void): void {
  useEffect(() => {
    if (!isFramed) return;
    const heard = ({ source, data }: MessageEvent<ToPortal | null>) => {
      if (source !== window.parent || data?.portal !== "link") return;
      const key = /#(whk_[A-Za-z0-9_-]+)$/.exec(String(data.url))?.[1];
      if (key !== undefined) open(key);
    };
    const moved = () => {
      if (!location.hash.startsWith("#whk_")) tellHost({ portal: "navigate", path: location.hash.slice(1) });
    };
    const sized = new ResizeObserver(() => tellHost({ portal: "height", height: document.body.scrollHeight }));
    sized.observe(document.body);
    addEventListener("message", heard);
    addEventListener("hashchange", moved);
    return () => {
      sized.disconnect();
      removeEventListener("message", heard);
      removeEventListener("hashchange", moved);
    };
  }, [open]);
}
