import { describe, expect, it, onTestFinished } from "vitest";
import { chatAt, Outlet } from "../../src/alerts/people.ts";
import { TestReceiver } from "../harness/receiver.ts";

const DATA = { detail: "the disk said no" };

async function aChat(script: Parameters<typeof TestReceiver.start>[0]) {
  const receiver = await TestReceiver.start(script);
  onTestFinished(() => receiver.close());
  const lines: string[] = [];
  const write = (fields: object, message: string) => void lines.push(JSON.stringify(fields) + message);
  const log = { debug: write, info: write, warn: write, error: write, isLevelEnabled: () => true };
  let now = 0;
  const chat = new Outlet({ clock: { monotonic: () => now }, log });
  chat.configure(chatAt(new URL(`${receiver.url}/T0/B0/secret`)), "");
  const texts = () => receiver.requests.map(({ body }) => (JSON.parse(String(body)) as { text: string }).text);
  return { chat, receiver, lines, texts, pass: (ms: number) => (now += ms) };
}

describe("a chat", () => {
  it("gets each alert once, in the order in which they happened", async () => {
    const { chat, texts, lines } = await aChat([]);
    chat.say("webhookd.storage_fault", DATA);
    chat.say("webhookd.backup_failed", DATA);
    await Promise.all([chat.post(), chat.post()]);
    expect(texts()).toEqual(["The store has a fault\nthe disk said no", "A backup failed\nthe disk said no"]);
    expect(lines).toEqual([]);
  });

  it.each([500, 429, 302])("that answers %i is tried again after a pause, and nothing is lost", async (status) => {
    const { chat, texts, lines, pass } = await aChat([status, status]);
    chat.say("webhookd.storage_fault", DATA);
    chat.say("webhookd.backup_failed", DATA);
    await chat.post();
    await chat.post();
    expect(texts()).toHaveLength(1);
    pass(10_000);
    await chat.post();
    pass(59_999);
    await chat.post();
    expect(texts()).toHaveLength(2);
    pass(1);
    await chat.post();
    expect(texts().slice(1)).toEqual([texts()[0], texts()[0], expect.stringContaining("A backup failed")]);
    // The failure is logged once, and never with the address, which is a secret.
    expect(lines).toHaveLength(1);
    expect(lines.join()).not.toContain("secret");
  });

  it("gets two alerts that read the same", async () => {
    const { chat, texts } = await aChat([]);
    for (let times = 0; times < 2; times++) chat.say("webhookd.backup_failed", DATA);
    await chat.post();
    expect(texts()).toHaveLength(2);
  });

  it("that refuses one gets the next, and the log says so", async () => {
    const { chat, texts, lines } = await aChat([404]);
    chat.say("webhookd.storage_fault", DATA);
    chat.say("webhookd.backup_failed", DATA);
    await chat.post();
    expect(texts()).toHaveLength(2);
    expect(lines).toEqual([expect.stringMatching(/404.*refuses an alert$/)]);
  });

  it("hears with which commands a held key goes on", async () => {
    const { chat, texts } = await aChat([]);
    const held_keys = { count: 1, since: "2026-11-20T08:00:00.000Z", ordering_key: "order_7", event: "evt_1" };
    chat.say("webhookd.keys_held", { total: 1, endpoints: [{ endpoint: "ep_1", tenant: "a", url: null, held_keys }] });
    await chat.post();
    expect(texts()[0]!.split("\n").slice(2)).toEqual([
      "   order_7 has been held by evt_1 since 2026-11-20T08:00:00.000Z",
      "   to send it again: webhookd replay evt_1 --endpoint ep_1",
      "   to skip it: webhookd events cancel evt_1 --endpoint ep_1",
    ]);
  });

  it("says numbers as people do", async () => {
    const { chat, texts } = await aChat([]);
    const one = { endpoint: "ep_1", tenant: "a", url: null, error: "http_status", status_code: 503 };
    chat.say("webhookd.deliveries_failed", {
      total: 3,
      groups: [
        { ...one, count: 1 },
        { ...one, count: 1204 },
      ],
    });
    chat.say("webhookd.storage_low", { free_bytes: 3 * 2 ** 20, floor_bytes: 2 ** 29 });
    await chat.post();
    expect(texts()[0]).toMatch(/, 1 delivery\n.*, 1,204 deliveries$/);
    expect(texts()[1]).toContain("\n3.0 MiB are free; below 512 MiB new events are refused");
  });

  it("that is away for long gets the latest twenty", async () => {
    const { chat, receiver, texts } = await aChat([]);
    for (let count = 0; count < 30; count++) chat.say("webhookd.storage_fault", { detail: `number ${count}` });
    await chat.post();
    expect(receiver.requests).toHaveLength(20);
    expect(texts()[0]).toContain("number 10");
  });

  it("shows no path of a URL, and nothing that steers it", async () => {
    const { chat, texts } = await aChat([]);
    const one = { endpoint: "ep_1", tenant: "a", url: "https://h.example/key-123", reason: "<!channel> & \u202e" };
    chat.say("webhookd.endpoint_disabled", { total: 7, endpoints: Array.from({ length: 7 }, () => one) });
    await chat.post();
    const [text] = texts();
    expect(text).toContain(
      "Endpoints were disabled: 7\n• h.example (tenant a, ep_1): &lt;!channel&gt; &amp; &lt;U+202E&gt;",
    );
    expect(text).not.toContain("key-123");
    expect(text!.split("\n").filter((line) => line.startsWith("•"))).toHaveLength(5);
  });
});
