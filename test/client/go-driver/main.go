// Asks the Go client what the lines of its input say (`Asked` in languages.ts), and answers each with a line.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"webhookd"
)

type ask struct {
	ID    string          `json:"id"`
	Query map[string]any  `json:"query"`
	Body  json.RawMessage `json:"body"`
}

type asked struct {
	URL            string               `json:"url"`
	Socket         string               `json:"socket"`
	GiveUpAfterMs  int64                `json:"giveUpAfterMs"`
	Publish        *webhookd.EventDraft `json:"publish"`
	IdempotencyKey string               `json:"idempotencyKey"`
	Batch          []webhookd.BatchItem `json:"batch"`
	Call           []json.RawMessage    `json:"call"`
	Every          []json.RawMessage    `json:"every"`
	Verify         []json.RawMessage    `json:"verify"`
	Standard       []json.RawMessage    `json:"standard"`
}

func read[T any](text json.RawMessage) T {
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		panic(err)
	}
	return value
}

func reason(verdict webhookd.Verdict) any {
	if verdict.OK {
		return map[string]any{"reason": nil}
	}
	return map[string]any{"reason": verdict.Reason}
}

func bytesOf(text json.RawMessage) []byte {
	body, _ := base64.StdEncoding.DecodeString(read[string](text))
	return body
}

func tell(given asked) any {
	if given.Verify != nil {
		header := read[*string](given.Verify[1])
		if header == nil {
			header = new(string)
		}
		return reason(webhookd.Verify(bytesOf(given.Verify[0]), *header, read[[]string](given.Verify[2])...))
	}
	if given.Standard != nil {
		headers := http.Header{}
		for name, value := range read[map[string]string](given.Standard[1]) {
			headers.Set(name, value)
		}
		now := time.Unix(read[int64](given.Standard[3]), 0)
		return reason(webhookd.VerifyStandard(bytesOf(given.Standard[0]), headers, now, read[[]string](given.Standard[2])...))
	}
	if given.GiveUpAfterMs == 0 {
		given.GiveUpAfterMs = 10_000
	}
	client, err := webhookd.New(webhookd.Options{
		URL: given.URL, Socket: given.Socket, Key: os.Args[1], GiveUpAfter: time.Duration(given.GiveUpAfterMs) * time.Millisecond,
	})
	if err != nil {
		panic(err)
	}
	answer, err := answerOf(client, given)
	if err == nil {
		return map[string]any{"answer": answer}
	}
	var failure *webhookd.Error
	if !errors.As(err, &failure) {
		panic(err)
	}
	events := []webhookd.BatchItem{}
	var publish *webhookd.PublishError
	if errors.As(err, &publish) {
		events = publish.Events
	}
	faults := []string{}
	for _, fault := range failure.Errors {
		faults = append(faults, fault.Code)
	}
	return map[string]any{"error": map[string]any{
		"code": failure.Code, "retryable": failure.Retryable, "hint": failure.Hint, "events": events, "faults": faults,
	}}
}

func answerOf(client *webhookd.Client, given asked) (any, error) {
	ctx := context.Background()
	switch {
	case given.Call != nil:
		answer, err := webhookd.Call(ctx, client, webhookd.Named(read[string](given.Call[0])), sent(given.Call[1]))
		if len(answer) == 0 {
			return nil, err
		}
		return answer, err
	case given.Every != nil:
		items := []any{}
		for event, err := range webhookd.Every(ctx, client, webhookd.ListEvents, sent(given.Every[1])) {
			if err != nil {
				return nil, err
			}
			items = append(items, event)
		}
		return items, nil
	case given.Batch != nil:
		return client.PublishBatch(ctx, given.Batch)
	}
	return client.Publish(ctx, *given.Publish, given.IdempotencyKey)
}

func sent(text json.RawMessage) webhookd.Ask {
	given := read[ask](text)
	query := url.Values{}
	for name, value := range given.Query {
		query.Set(name, fmt.Sprint(value))
	}
	made := webhookd.Ask{ID: given.ID, Query: query}
	if given.Body != nil {
		made.Body = given.Body
	}
	return made
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var given asked
		if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
			panic(err)
		}
		text, err := json.Marshal(tell(given))
		if err != nil {
			panic(err)
		}
		fmt.Println(string(text))
	}
}
