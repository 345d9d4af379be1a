import * as v from "valibot";
import type { Operation, ReplyShape } from "../operation.ts";
import { anAuditRecord, AuditPage } from "../schemas/audit.ts";
import { AnyObject, aPageOf } from "../schemas/wire.ts";

export const getDescription: Operation = {
  id: "getDescription",
  tag: "Daemon",
  summary: "Read this description as OpenAPI 3.1",
  replies: { 200: { description: "The description.", schema: AnyObject, example: { openapi: "3.1.0" } } },
};

export const readDocs: Operation = {
  id: "readDocs",
  tag: "Daemon",
  summary: "Read this description as a page",
  description: "One HTML page that loads nothing and runs nothing: save it and open it anywhere.",
  replies: {
    200: {
      description: "The page.",
      schema: v.string(),
      example: "<!doctype html>…",
      type: "text/html; charset=utf-8",
    },
  },
};

export const listAudit: Operation = {
  id: "listAudit",
  tag: "Daemon",
  summary: "List who did what",
  description: "Every change and every look at a secret, refused ones too; never what the change held.",
  replies: {
    200: { description: "A page of it.", schema: AuditPage, example: aPageOf(anAuditRecord), headers: ["link"] },
  },
};

function word(description: string, ...words: [string, ...string[]]): ReplyShape {
  return { description, schema: v.picklist(words), example: words[0], type: "text/plain; charset=utf-8" };
}

export const getHealth: Operation = {
  id: "getHealth",
  tag: "Daemon",
  summary: "Ask whether the process answers",
  replies: { 200: word("It does.", "ok") },
};

export const getReadiness: Operation = {
  id: "getReadiness",
  tag: "Daemon",
  summary: "Ask whether publishes are taken",
  replies: {
    200: word("They are.", "ready"),
    503: word("They are not, and why.", "draining", "disk_full", "store_unavailable"),
  },
};
