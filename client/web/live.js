// One session from the page: a source is captured, sent by one of three ways, and its events come
// back. What happens is told to `on`; the page itself is not touched.
import { CameraSource, CaptureProblem, FileSource, Memory, PictureTap, RATE, SoundTap } from "./capture.js";
import { backOff, ServerClock } from "./clock.js";
import { Feed } from "./feed.js";
import { IngestSocket, PICTURE, SOUND, WEBM } from "./ingest.js";
import { endOf, refusalOf } from "./notes.js";
import { tab } from "./remembered.js";
import { SessionState } from "./state.js";
import { WhipSender } from "./whip.js";

const PASSING = ["refused_ending", "refused_full", "refused_busy"];
const FINISHING = 30_000;
const MOVED = 1000;
const HOPELESS = 3; // tries after which the person is told
const WEBM_PIECE = 250;
const WEBM_TYPES = ["video/webm;codecs=vp8,opus", "video/webm"];

const UNKNOWN = new ServerClock();

export class Live {
  // `on` is told `phase(name, values)`, `problem(name, values)`, `token(tried)`, `line(line)` and
  // `leaving()`, when the picture is about to go.
  constructor(video, on) {
    Object.assign(this, { video, on });
    this.settings = { camera: "", microphone: "", language: "auto", transport: "pcm+jpeg" };
    this.token = "";
    this.phase = "idle";
    this.source = this.sender = this.feed = this.session = null;
    this.taps = [];
    this.key = null; // {session, secret} to go on with after a cut
    this.memory = new Memory();
    this.muted = this.hushed = false;
    this.fresh();
    addEventListener("offline", () => this.sender?.doubt?.());
    addEventListener("online", () => this.hurry());
  }

  fresh() {
    this.state = new SessionState();
    this.first = null; // our clock at the session's time 0, as seen from the lines that came soonest
    this.stopped = null; // the session's time when it ended
  }

  get running() {
    return !["idle", "ended", "problem"].includes(this.phase);
  }

  // Whether the session's clock is known, not only guessed from when its lines come.
  get exact() {
    return this.sender instanceof IngestSocket || this.clock.ahead !== null;
  }

  // The server's clock, from whoever asks it.
  get clock() {
    return this.sender?.clock || this.feed?.clock || UNKNOWN;
  }

  // Our clock at the session's time 0. Our own capture times say it, unless the server had to put
  // them elsewhere; then its clock does.
  get zero() {
    const { ahead } = this.clock;
    const theirs = ahead === null ? null : -ahead;
    if (!(this.sender instanceof IngestSocket)) return theirs ?? this.first;
    const { start } = this.sender;
    if (this.resumed || start === null) return theirs ?? this.first;
    const moved = theirs !== null && Math.abs(theirs - start) > MOVED;
    return moved || (theirs !== null && this.settings.transport === "webm") ? theirs : start;
  }

  // Where the session stands, in seconds on its timeline.
  now() {
    if (this.stopped !== null) return this.stopped;
    return this.zero === null ? 0 : Math.max(0, (performance.now() - this.zero) / 1000);
  }

  tell(phase, values = {}) {
    this.phase = phase;
    this.on.phase(phase, values);
  }

  // `key`: of the session that this tab had before it was loaded again.
  async start(file = null, key = null) {
    this.close();
    this.key = key;
    const run = (this.run = Symbol("run"));
    this.fresh();
    this.memory.clear();
    this.tries = 0;
    this.tell("asking");
    try {
      const source = file ? await FileSource.open(this.video, file) : await CameraSource.open(this.video, this.settings);
      if (run !== this.run) {
        source.close();
        return;
      }
      this.source = source;
      source.whenLost((kind) => (kind === "end" ? this.stop() : this.on.problem(`lost_${kind}`)));
      this.hush();
      this.tap();
      this.connect();
    } catch (error) {
      if (run !== this.run) return;
      this.fail(error instanceof CaptureProblem ? error : new CaptureProblem("capture", error.message));
    }
  }

  fail({ problem, detail }) {
    this.close();
    this.tell("problem");
    this.on.problem(problem, { detail });
  }

  // Sound and pictures flow as long as the source is open; they are sent while somebody takes them.
  tap() {
    const plain = this.settings.transport === "pcm+jpeg";
    const send = (kind, time, payload) => plain && this.sender?.send(kind, time, payload);
    if (this.source.hasSound) {
      const run = this.run;
      this.listening = SoundTap.open(this.source, (pcm, time) => send(SOUND, time, pcm)).then((tap) => {
        if (run === this.run && this.source) this.taps.push(tap);
        else tap.close();
      }, (error) => this.fail(new CaptureProblem("capture", error.message)));
    }
    if (!this.source.hasPicture) return;
    const picture = (bytes, time) => {
      this.memory.add(bytes, time);
      send(PICTURE, time, bytes);
    };
    this.pictures = new PictureTap(this.video, picture, { rate: plain ? RATE : 5 });
    this.taps.push(this.pictures);
  }

  async connect() {
    const { transport, language } = this.settings;
    const { token, run } = this;
    this.tell("connecting");
    if (transport !== "pcm+jpeg" && this.source instanceof FileSource) {
      await this.listening;
      if (run !== this.run || !this.source) return;
      if (!this.source.capture()) {
        this.fail(new CaptureProblem("stream"));
        return;
      }
    }
    const { stream } = this.source;
    const on = {
      welcome: (message) => this.welcome(message),
      lost: () => this.again(),
      refused: (text) => this.refused(text),
      replaced: () => {
        this.close();
        this.tell("ended", { reason: "replaced" });
      },
    };
    const { key: resume } = this;
    if (transport !== "whip") this.sender = new IngestSocket({ format: transport, language, token, resume }, on);
    else this.sender = new WhipSender({ stream, language, token }, on);
  }

  async beginFile() {
    if (!(this.source instanceof FileSource) || this.source.begun) return;
    this.source.begun = true;
    await this.listening; // its first words are not lost
    await this.source.begin().catch((error) => this.fail(new CaptureProblem("file", error.message)));
  }

  async welcome({ session, feed, secret, resumed }) {
    this.session = session;
    this.key = secret ? { session, secret } : null;
    tab.set("key", this.key && this.source instanceof CameraSource ? JSON.stringify(this.key) : "");
    this.resumed = resumed === true;
    if (!this.resumed) this.fresh(); // else the clock, and what was said, stay
    this.welcomed = performance.now();
    this.listen(feed || `/feed/${session}`);
    this.tell("live");
    // What was recorded goes on being so in the session that follows a cut.
    if (this.recorded) this.record(true).catch((error) => this.on.problem("record_failed", { detail: error.message }));
    await this.beginFile();
    if (this.settings.transport === "webm" && this.source) this.film();
  }

  film() {
    const type = WEBM_TYPES.find((one) => window.MediaRecorder?.isTypeSupported(one));
    if (!type || !this.source.stream) {
      this.fail(new CaptureProblem("stream"));
      return;
    }
    const recorder = new MediaRecorder(this.source.stream, { mimeType: type, videoBitsPerSecond: 2_000_000 });
    const { sender } = this;
    let from = performance.now();
    let turn = Promise.resolve(); // pieces leave in order
    recorder.ondataavailable = ({ data }) => {
      const time = from;
      from = performance.now();
      if (data.size) turn = turn.then(async () => sender.send(WEBM, time, await data.arrayBuffer()));
    };
    this.filmed = new Promise((done) => (recorder.onstop = () => turn.then(done)));
    recorder.start(WEBM_PIECE);
    this.recorder = recorder;
  }

  listen(path) {
    this.feed?.close();
    this.feed = new Feed(path, this.token, {
      open: () => this.phase === "retrying" && this.session && this.tell(this.source ? "live" : "watching"),
      line: (line) => this.take(line),
      waiting: (wait) => this.running && this.phase !== "ending" && this.tell("retrying", { wait }),
      over: (reason) => this.over(reason),
    });
  }

  take(line) {
    if (line.type === "refused") {
      if (endOf(line.text || "") === "ended_gone") this.over(line.text);
      else this.refused(line.text || "");
      return;
    }
    const arrived = performance.now();
    if (!this.exact && this.phase !== "ending" && Number.isFinite(line.known_at)) {
      const first = arrived - line.known_at * 1000;
      this.first = this.first === null ? first : Math.min(this.first, first);
    }
    this.state.take(line, this.zero === null ? null : (arrived - this.zero) / 1000);
    if (["State", "Recording"].includes(line.type)) this.recorded = this.state.recording.on;
    if (this.state.level && this.pictures && this.settings.transport === "pcm+jpeg")
      this.pictures.rate = Math.min(RATE, this.state.level.pictures_a_second || RATE);
    this.on.line(line);
    if (this.state.ended) this.over();
  }

  over(reason = "") {
    // We still send: the session is gone, or its server, which may come back.
    if (this.source && (!this.state.ended || endOf(this.state.closed) === "ended_server")) {
      this.again();
      return;
    }
    this.stopped ??= this.now();
    this.close();
    this.tell("ended", { reason: reason || this.state.closed });
    if (this.state.failed !== null) this.on.problem("session", { detail: this.state.failed });
  }

  again() {
    if (!this.running || !this.source) return;
    if (this.phase === "live" && performance.now() - this.welcomed > 5000) this.tries = 0;
    this.first = this.zero;
    this.drop();
    this.session = null;
    const wait = backOff(this.tries++);
    this.tell("retrying", { wait });
    if (this.tries === HOPELESS) this.on.problem("unreachable");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.source && this.connect(), wait);
  }

  // There is a network again: no need to wait.
  hurry() {
    if (this.phase !== "retrying") return;
    this.feed?.hurry();
    if (!this.source || this.session !== null) return;
    clearTimeout(this.timer);
    this.connect();
  }

  refused(text) {
    const { problem, values } = refusalOf(text);
    if (this.tries > 0 && this.source && PASSING.includes(problem)) {
      this.again(); // who was let in once waits to be let in again
      this.on.problem(problem, values);
      return;
    }
    this.close();
    this.tell("problem");
    if (/token/i.test(text)) this.on.token(this.token !== "");
    else this.on.problem(problem, values);
  }

  // Ends politely: what was sent is still answered.
  stop() {
    if (!this.running) return;
    const waits = this.sender !== null && this.feed !== null && this.phase === "live";
    const { sender, filmed } = this;
    // Its last piece first, also when it has stopped by itself because the film is over.
    if (this.recorder) filmed.then(() => sender.end());
    else sender?.end();
    this.release();
    if (!waits) {
      this.over();
      return;
    }
    this.tell("ending");
    this.timer = setTimeout(() => this.over(), FINISHING);
  }

  watch(session) {
    this.close();
    this.fresh();
    this.session = session;
    this.tell("watching");
    this.listen(`/feed/${encodeURIComponent(session)}`);
  }

  set mute(on) {
    this.muted = on;
    this.hush();
  }

  // Hushed while an answer is spoken, so that it is not heard as a new request.
  set hushing(on) {
    this.hushed = on && this.source instanceof CameraSource;
    this.hush();
  }

  hush() {
    this.source?.hush(this.muted || this.hushed);
  }

  async record(on) {
    const answer = await fetch(`/sessions/${encodeURIComponent(this.session)}/record`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...(this.token ? { Authorization: `Bearer ${this.token}` } : {}) },
      body: JSON.stringify({ on }),
    });
    if (!answer.ok) throw new Error((await answer.text()).slice(0, 200) || `${answer.status}`);
    const stands = await answer.json();
    if (stands.problem) throw new Error(stands.problem);
    this.recorded = this.state.recording.on = stands.on === true; // the feed says it too, to everybody
  }

  // What is known here, and by nobody else, of camera and microphone.
  get here() {
    if (!this.source) return null;
    const { hasSound: sound, hasPicture: picture, silent, denied } = this.source;
    return { sound, picture, denied, muted: this.muted, silent: sound && !this.muted && !this.hushed && silent };
  }

  pictureAt(time) {
    return this.zero === null ? null : this.memory.at(this.zero + time * 1000);
  }

  drop() {
    if (this.recorder?.state === "recording") this.recorder.stop();
    this.recorder = null;
    this.feed?.close();
    this.feed = null;
    this.sender?.end();
  }

  release() {
    if (this.source) this.on.leaving(); // the last picture can still be kept
    for (const tap of this.taps) tap.close();
    this.taps = [];
    this.pictures = null;
    if (this.recorder?.state === "recording") this.recorder.stop();
    this.source?.close();
    this.source = null;
  }

  close() {
    clearTimeout(this.timer);
    tab.set("key", "");
    this.run = this.key = null;
    this.resumed = this.recorded = false;
    this.drop();
    this.release();
  }
}
