// Package webhookd publishes to webhookd, calls the rest of its interface, and verifies what it sends.
package webhookd

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	firstWait      = 100 * time.Millisecond
	longestWait    = 5 * time.Second
	maxAnswerBytes = 64 << 20
	pageSize       = 100
	// The daemon sends a comment each 15 seconds.
	longestSilence = 40 * time.Second
)

var errSilent = errors.New("it stopped answering")

// Options say where the daemon is.
type Options struct {
	// URL may have a path, if a proxy serves the daemon under one.
	URL string
	Key string
	// Socket is the daemon's unix socket, which needs no key. It is used instead of URL.
	Socket string
	// Timeout is for one try: 10 s by default.
	Timeout time.Duration
	// GiveUpAfter is for all tries of a publish together: 30 s by default.
	GiveUpAfter time.Duration
	// HTTPClient is used instead of one of our own, with its own timeout, but not with Socket. It is not changed.
	HTTPClient *http.Client
}

// Client may be shared by any number of goroutines.
type Client struct {
	base        string
	place       string
	key         string
	http        *http.Client
	timeout     time.Duration
	giveUpAfter time.Duration
	silence     time.Duration
}

// New makes a client. It does not connect yet.
func New(options Options) (*Client, error) {
	client := &Client{
		key: options.Key, timeout: options.Timeout, giveUpAfter: options.GiveUpAfter, silence: longestSilence,
	}
	if client.timeout == 0 {
		client.timeout = 10 * time.Second
	}
	if client.giveUpAfter == 0 {
		client.giveUpAfter = 30 * time.Second
	}
	if options.Socket != "" {
		dialer := net.Dialer{}
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", options.Socket)
		}
		client.base, client.place, client.key = "http://localhost", options.Socket, ""
		client.http = &http.Client{Transport: &http.Transport{DialContext: dial}}
		return client, nil
	}
	parsed, err := url.Parse(options.URL)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return nil, errors.New("URL must begin with http:// or https:// and have a host")
	}
	client.base, client.place = strings.TrimRight(options.URL, "/"), options.URL
	own := http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	if options.HTTPClient != nil {
		own = *options.HTTPClient
	}
	// A redirect would send the key elsewhere.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client.http = &own
	return client, nil
}

// Error says what the daemon refused, or why it could not be reached.
type Error struct {
	// Code is that of the daemon's answer, or unreachable.
	Code string
	// Status is 0 if there was no answer.
	Status int
	// Detail says what happened, for people.
	Detail string
	// Errors names the fields that are wrong.
	Errors []FieldProblem
	// Retryable says whether the same request may succeed later. If not, something must be changed first.
	Retryable bool
	// Hint says what to do next, if there is more to say.
	Hint string

	cause      error
	retryAfter time.Duration
}

func (e *Error) Error() string { return e.Detail }

// Unwrap returns the error of the network or of the context, if there was one.
func (e *Error) Unwrap() error { return e.cause }

// PublishError has the events that were not published, or of which nobody knows, with their idempotency keys.
// PublishBatch(ctx, err.Events) cannot publish them twice within a day.
type PublishError struct {
	Err    *Error
	Events []BatchItem
}

func (e *PublishError) Error() string { return e.Err.Error() }

// Unwrap returns the Error, so that errors.As finds it.
func (e *PublishError) Unwrap() error { return e.Err }

// Operation is one of the daemon's, with the type of its answer.
type Operation[T any] struct{ Name string }

// Page is a part of a list. NextCursor is nil at its end.
type Page[T any] struct {
	ListPage
	Data []T `json:"data"`
}

// Ask is what a call sends.
type Ask struct {
	// ID replaces {id} in the path.
	ID    string
	Query url.Values
	// Body is written as JSON. A json.RawMessage is sent as it is.
	Body           any
	IdempotencyKey string
	// IfMatch is the ETag that was read: nothing is changed if somebody has changed the object since.
	IfMatch string
	// IfNoneMatch may be "*": only if there is no such object yet.
	IfNoneMatch string
}

type route struct{ method, path string }

// Call returns the answer. Its error is an *Error, that of ctx, or that of writing Body.
func Call[T any](ctx context.Context, client *Client, operation Operation[T], ask Ask) (T, error) {
	_, answer, err := call(ctx, client, operation, ask)
	return answer, err
}

// CallWithETag also returns the ETag of the answer, which a change can send back as Ask.IfMatch; "" if it has none.
func CallWithETag[T any](ctx context.Context, client *Client, operation Operation[T], ask Ask) (T, string, error) {
	head, answer, err := call(ctx, client, operation, ask)
	return answer, head.etag, err
}

// head is what is known of an answer besides its body.
type head struct {
	status int
	etag   string
}

// call also returns the head of the answer.
func call[T any](ctx context.Context, client *Client, operation Operation[T], ask Ask) (head, T, error) {
	var answer T
	head, text, err := client.ask(ctx, operation.Name, ask)
	if err != nil {
		return head, answer, err
	}
	if into, isText := any(&answer).(*string); isText {
		*into = string(text)
		return head, answer, nil
	}
	if head.status == http.StatusNoContent {
		return head, answer, nil
	}
	isObject := bytes.HasPrefix(bytes.TrimSpace(text), []byte("{"))
	if !isObject || json.Unmarshal(text, &answer) != nil {
		return head, answer, client.notWebhookd(head.status)
	}
	return head, answer, nil
}

// Every yields the items of a list, page after page, to its end, or an error.
func Every[T any](ctx context.Context, client *Client, operation Operation[Page[T]], ask Ask) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query := url.Values{"limit": {strconv.Itoa(pageSize)}}
		for name, values := range ask.Query {
			query[name] = values
		}
		ask.Query = query
		for {
			page, err := Call(ctx, client, operation, ask)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page.Data {
				if !yield(item, nil) {
					return
				}
			}
			if page.NextCursor == nil {
				return
			}
			query.Set("cursor", *page.NextCursor)
		}
	}
}

// PortalLink makes a link for one customer. Set NewTenant if the customer may have nothing yet.
func (c *Client) PortalLink(ctx context.Context, draft PortalLinkDraft) (PortalLink, error) {
	return Call(ctx, c, CreatePortalLink, Ask{Body: draft})
}

// Change is a message of the stream of changes.
type Change struct {
	Event string
	Data  json.RawMessage
}

// Changes yields what happens from now on, until the daemon ends the stream or ctx is done. If the connection is dead,
// it yields an *Error after 40 s.
func (c *Client) Changes(ctx context.Context, query url.Values) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		limited, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		quiet := time.AfterFunc(c.silence, func() { cancel(errSilent) })
		defer quiet.Stop()
		broken := func(err error) error {
			if context.Cause(limited) == errSilent {
				err = errSilent
			}
			return c.interrupted(ctx, err)
		}
		request, err := c.request(limited, StreamChanges.Name, Ask{Query: query})
		if err != nil {
			yield(Change{}, err)
			return
		}
		request.Header.Set("Accept", "text/event-stream")
		response, err := c.http.Do(request)
		if err != nil {
			yield(Change{}, broken(err))
			return
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
			yield(Change{}, c.refusal(response, text))
			return
		}
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 16<<20)
		change := Change{}
		// The time that the caller takes for a change is no silence.
		scan := func() bool {
			quiet.Reset(c.silence)
			defer quiet.Stop()
			return lines.Scan()
		}
		for scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch {
			case name == "event":
				change.Event = value
			case name == "data":
				change.Data = append(change.Data, value...)
			case lines.Text() == "" && len(change.Data) > 0:
				if !yield(change, nil) {
					return
				}
				change = Change{}
			}
		}
		if err := lines.Err(); err != nil {
			yield(Change{}, broken(err))
		}
	}
}

// Publish returns once the event and its deliveries are on the daemon's disk. Its error is a *PublishError, also if ctx is
// done, or that of writing the event. Give the same key for the same event, also after a restart of your program: one of
// your own, such as an id in your database. With "" the client makes one for this call.
func (c *Client) Publish(ctx context.Context, event EventDraft, idempotencyKey string) (Publication, error) {
	if idempotencyKey == "" {
		idempotencyKey = newKey()
	}
	sent := []BatchItem{{
		Type: event.Type, Data: event.Data, CreatedAt: event.CreatedAt, PublisherID: event.PublisherID,
		Tags: event.Tags, OrderingKey: event.OrderingKey, Tenant: event.Tenant, IdempotencyKey: &idempotencyKey,
	}}
	isWhole := func(answer Publication) bool { return answer.ID != "" }
	return persist(ctx, c, PublishEvent, Ask{Body: event, IdempotencyKey: idempotencyKey}, sent, isWhole)
}

// PublishBatch publishes up to 1,000 events: all or none.
func (c *Client) PublishBatch(ctx context.Context, events []BatchItem) ([]BatchedPublication, error) {
	sent := make([]BatchItem, len(events))
	for at, event := range events {
		if event.IdempotencyKey == nil {
			key := newKey()
			event.IdempotencyKey = &key
		}
		sent[at] = event
	}
	isWhole := func(answer PublishBatchAnswer) bool { return answer.Data != nil }
	answer, err := persist(ctx, c, PublishBatch, Ask{Body: map[string]any{"events": sent}}, sent, isWhole)
	return answer.Data, err
}

func persist[T any](
	ctx context.Context, c *Client, operation Operation[T], ask Ask, events []BatchItem, isWhole func(T) bool,
) (T, error) {
	until := time.Now().Add(c.giveUpAfter)
	var none T
	refused := func(failure *Error) (T, error) {
		failure.Hint = hintOn(failure)
		return none, &PublishError{Err: failure, Events: events}
	}
	for tries := 1; ; tries++ {
		head, answer, err := call(ctx, c, operation, ask)
		if err == nil && isWhole(answer) {
			return answer, nil
		}
		if err == nil {
			return refused(c.notWebhookd(head.status))
		}
		var failure *Error
		if !errors.As(err, &failure) {
			if ctx.Err() != nil {
				return refused(stopped(ctx))
			}
			return none, err
		}
		wait := waitAfter(tries, failure)
		if !failure.Retryable || time.Now().Add(wait).After(until) {
			return refused(failure)
		}
		select {
		case <-ctx.Done():
			return refused(stopped(ctx))
		case <-time.After(wait):
		}
	}
}

// stopped says that the caller's context ended a publish, of which nobody knows.
func stopped(ctx context.Context) *Error {
	detail := fmt.Sprintf("stopped before webhookd answered (%v)", ctx.Err())
	return &Error{Code: "unreachable", Detail: detail, Retryable: true, cause: ctx.Err()}
}

// waitAfter grows with each try, and is random, so that callers do not all return at once.
func waitAfter(tries int, failure *Error) time.Duration {
	longest := min(longestWait, firstWait<<min(tries-1, 10))
	return failure.retryAfter + time.Duration(float64(longest)*(0.5+mathrand.Float64()/2))
}

const again = "ublish its Events again, with their idempotency keys: none of them is then published twice"

func hintOn(failure *Error) string {
	switch {
	case failure.Retryable:
		return "P" + again + "."
	case failure.Code == "unreachable":
		return "Check the address of the daemon. Then p" + again + "."
	case failure.Code == "unauthorized" || failure.Code == "forbidden":
		return "Use a key with the scope publish for the tenant of the events. Then p" + again + "."
	case failure.Code == "idempotency_mismatch":
		return "Another event was published under this idempotency key: give this event a key of its own."
	case failure.Code == "payload_too_large":
		return "Publish fewer or smaller events at a time."
	}
	return "Publishing the same events again fails in the same way: correct what the message names first."
}

// ask returns the head and the body of a 2xx answer.
func (c *Client) ask(ctx context.Context, name string, ask Ask) (head, []byte, error) {
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := c.request(limited, name, ask)
	if err != nil {
		return head{}, nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return head{}, nil, c.interrupted(ctx, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return head{}, nil, c.interrupted(ctx, err)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return head{}, nil, c.refusal(response, text)
	}
	return head{response.StatusCode, response.Header.Get("ETag")}, text, nil
}

// interrupted returns the caller's own cancellation as it is.
func (c *Client) interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return c.notReached(err)
}

func (c *Client) request(ctx context.Context, name string, ask Ask) (*http.Request, error) {
	at, known := routes[name]
	if !known {
		hint := "GET /openapi.json of the daemon names all of them."
		if near := nearest(name); near != "" {
			hint = "Did you mean " + near + "?"
		}
		return nil, &Error{Code: "unknown_operation", Detail: fmt.Sprintf("there is no operation %q", name), Hint: hint}
	}
	target := c.base + strings.Replace(at.path, "{id}", url.PathEscape(ask.ID), 1)
	if len(ask.Query) > 0 {
		target += "?" + ask.Query.Encode()
	}
	var body io.Reader
	if ask.Body != nil {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(ask.Body); err != nil {
			return nil, err
		}
		body = &text
	}
	request, err := http.NewRequestWithContext(ctx, at.method, target, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json, text/plain")
	request.Header.Set("User-Agent", "webhookd-go/"+Version)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	if ask.IdempotencyKey != "" {
		request.Header.Set("Idempotency-Key", ask.IdempotencyKey)
	}
	if ask.IfMatch != "" {
		request.Header.Set("If-Match", ask.IfMatch)
	}
	if ask.IfNoneMatch != "" {
		request.Header.Set("If-None-Match", ask.IfNoneMatch)
	}
	return request, nil
}

func (c *Client) notReached(err error) *Error {
	// Another try meets the same certificate.
	var untrusted *tls.CertificateVerificationError
	mayPass := !errors.As(err, &untrusted)
	return &Error{Code: "unreachable", Detail: fmt.Sprintf("cannot reach webhookd (%v)", err), Retryable: mayPass, cause: err}
}

func (c *Client) notWebhookd(status int) *Error {
	detail := fmt.Sprintf("what answers at %s is not webhookd (status %d)", c.place, status)
	return &Error{Code: "unreachable", Status: status, Detail: detail, Retryable: mayPass(status)}
}

func mayPass(status int) bool {
	return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

func (c *Client) refusal(response *http.Response, text []byte) *Error {
	var problem struct {
		Code      string         `json:"code"`
		Detail    string         `json:"detail"`
		Errors    []FieldProblem `json:"errors"`
		Retryable *bool          `json:"retryable"`
	}
	status := response.StatusCode
	failure := c.notWebhookd(status)
	if json.Unmarshal(text, &problem) == nil && problem.Code != "" {
		failure = &Error{
			Code: problem.Code, Status: status, Detail: problem.Detail, Errors: problem.Errors, Retryable: mayPass(status),
		}
		if problem.Retryable != nil {
			failure.Retryable = *problem.Retryable
		}
	}
	failure.retryAfter = askedWait(response.Header.Get("Retry-After"))
	return failure
}

// askedWait reads seconds, or a date, which proxies may send.
func askedWait(text string) time.Duration {
	if number, err := strconv.Atoi(text); err == nil && number >= 0 {
		return time.Duration(number) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

func newKey() string {
	var bytes [16]byte
	_, _ = rand.Read(bytes[:])
	bytes[6], bytes[8] = bytes[6]&0x0f|0x40, bytes[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", bytes[:4], bytes[4:6], bytes[6:8], bytes[8:10], bytes[10:])
}

// Named returns an operation by its name, for callers that know it only when they run.
func Named(name string) Operation[json.RawMessage] { return Operation[json.RawMessage]{name} }

// nearest returns the known name that the fewest changed letters lead to, at most three; "" if there is none.
func nearest(name string) string {
	best, least := "", 4
	for known := range routes {
		if steps := distance(strings.ToLower(name), strings.ToLower(known)); steps < least || (steps == least && known < best) {
			best, least = known, steps
		}
	}
	return best
}

func distance(from, to string) int {
	last := make([]int, len(to)+1)
	for column := range last {
		last[column] = column
	}
	for row := 1; row <= len(from); row++ {
		current := make([]int, len(to)+1)
		current[0] = row
		for column := 1; column <= len(to); column++ {
			differs := 1
			if from[row-1] == to[column-1] {
				differs = 0
			}
			current[column] = min(last[column]+1, current[column-1]+1, last[column-1]+differs)
		}
		last = current
	}
	return last[len(to)]
}
