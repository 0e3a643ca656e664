// Camera, microphone or a file, as 16 kHz PCM blocks and JPEG pictures on the page's clock.
import { SoundClock } from "./clock.js";

export const WIDTH = 640;
const STALL = 500; // ms by which a file is held up, and not only its pictures
const FORGOTTEN = 3; // ms a picture
export const RATE = 15; // pictures a second
const QUALITY = 0.8;
const OUTWARD = /back|rear|environment|world|glasses|capture|virtual|obs|后置|眼镜/i; // names of cameras
const SOUNDLESS = 2 / 32_768;
const SILENT_AFTER = 5000; // milliseconds of nothing at all: a switch, not a quiet room

// Why nothing can be captured. `name` is a key of the texts in i18n.js.
export class CaptureProblem extends Error {
  constructor(name, detail = "") {
    super(name);
    this.problem = name;
    this.detail = detail;
  }
}

function problemOf(error) {
  const names = {
    NotAllowedError: "denied",
    SecurityError: "denied",
    NotFoundError: "none",
    NotReadableError: "busy",
    AbortError: "busy",
    OverconstrainedError: "gone",
  };
  return new CaptureProblem(names[error.name] || "capture", `${error.name}: ${error.message}`);
}

const wish = (id) => (id ? { deviceId: { exact: id } } : {});

function wishes(camera, microphone) {
  const video = { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } };
  const audio = { echoCancellation: true, noiseSuppression: true, autoGainControl: true };
  return {
    video: { ...video, ...(camera ? wish(camera) : { facingMode: { ideal: "environment" } }) },
    audio: { ...audio, ...wish(microphone) },
  };
}

// Which of the two the person has forbidden for good, as far as the browser says.
async function forbidden() {
  const found = [];
  for (const [kind, name] of [["audio", "microphone"], ["video", "camera"]]) {
    const status = await navigator.permissions?.query({ name }).catch(() => null);
    if (status?.state === "denied") found.push(kind);
  }
  return found;
}

// Both at once if they can be had, else the one that can. A chosen device that is gone gives way
// to any other.
async function ask(wanted) {
  try {
    return await navigator.mediaDevices.getUserMedia(wanted);
  } catch (error) {
    if (error.name === "OverconstrainedError") return ask({ video: true, audio: true });
    const denied = error.name === "NotAllowedError" ? await forbidden() : [];
    if (!["NotFoundError", "NotReadableError"].includes(error.name) && denied.length !== 1) throw problemOf(error);
    for (const kind of ["audio", "video"]) {
      if (!wanted[kind] || Object.keys(wanted).length < 2 || denied.includes(kind)) continue;
      try {
        return await navigator.mediaDevices.getUserMedia({ [kind]: wanted[kind] });
      } catch {
        // the other one may still work
      }
    }
    throw problemOf(error);
  }
}

// What can be chosen; names come only after permission was given once.
export async function devices() {
  if (!navigator.mediaDevices) return { camera: [], microphone: [] };
  const all = await navigator.mediaDevices.enumerateDevices();
  const of = (kind) =>
    all.filter((one) => one.kind === kind && one.deviceId).map(({ deviceId, label }) => ({ id: deviceId, label }));
  return { camera: of("videoinput"), microphone: of("audioinput") };
}

class Source {
  constructor(video) {
    this.video = video;
    this.stream = null;
    this.level = 0;
    this.denied = null; // `audio` or `video`, when only that one is forbidden
    this.heard = Infinity; // when there last was any sound; no news before it is listened to
  }

  // Loudness of a moment's sound, 0 … 1.
  sounds(peak) {
    this.level = Math.max(peak, this.level * 0.8);
    if (peak > SOUNDLESS || this.heard === Infinity) this.heard = performance.now();
  }

  get silent() {
    return performance.now() - this.heard > SILENT_AFTER;
  }

  get hasSound() {
    return true;
  }

  get hasPicture() {
    return true;
  }
}

export class CameraSource extends Source {
  static async open(video, { camera, microphone } = {}) {
    if (!window.isSecureContext) throw new CaptureProblem("insecure");
    if (!navigator.mediaDevices) throw new CaptureProblem("unsupported");
    const source = new CameraSource(video);
    source.stream = await ask(wishes(camera, microphone));
    source.denied = source.hasSound && source.hasPicture ? null : (await forbidden())[0] || null;
    video.removeAttribute("src");
    video.srcObject = source.stream;
    video.muted = true;
    await video.play().catch(() => {});
    return source;
  }

  track(kind) {
    return this.stream.getTracks().find((track) => track.kind === kind) || null;
  }

  get hasSound() {
    return this.track("audio") !== null;
  }

  get hasPicture() {
    return this.track("video") !== null;
  }

  // A camera that looks at the user is shown as a mirror; one that looks where the user looks is
  // not. Only the picture on the screen is mirrored, never what is sent. Computers do not say
  // where their cameras look: those look at the user, unless their name says otherwise.
  get mirrored() {
    if (!this.hasPicture) return false;
    const track = this.track("video");
    const { facingMode } = track.getSettings();
    return facingMode ? facingMode === "user" : !OUTWARD.test(track.label);
  }

  hush(on) {
    const track = this.track("audio");
    if (track) track.enabled = !on;
    this.heard = Infinity;
  }

  listen(context) {
    return context.createMediaStreamSource(this.stream);
  }

  // Calls back when a device was pulled out or taken away.
  whenLost(act) {
    for (const track of this.stream.getTracks()) track.addEventListener("ended", () => act(track.kind));
  }

  close() {
    for (const track of this.stream.getTracks()) track.stop();
    this.video.srcObject = null;
  }
}

// A file plays in the page at its own pace, is heard, and is sent as if it happened now.
export class FileSource extends Source {
  static async open(video, file) {
    const source = new FileSource(video);
    source.address = URL.createObjectURL(file);
    video.srcObject = null;
    video.src = source.address;
    video.muted = false;
    await new Promise((done, fail) => {
      video.onloadeddata = done;
      video.onerror = () => fail(new CaptureProblem("file", file.name));
    });
    return source;
  }

  get hasPicture() {
    return this.video.videoWidth > 0;
  }

  get mirrored() {
    return false;
  }

  hush(on) {
    this.video.muted = on;
    this.heard = Infinity;
  }

  get silent() {
    return false; // a film may be so
  }

  listen(context) {
    // An element can be tapped once in its life, by one context.
    this.video.tapped ||= context.createMediaElementSource(this.video);
    this.video.tapped.connect(context.destination);
    this.sound = context.createMediaStreamDestination();
    this.video.tapped.connect(this.sound);
    return this.video.tapped;
  }

  // A stream of it, for the ways of sending that want one; null where the browser has none.
  capture() {
    const capture = this.video.captureStream || this.video.mozCaptureStream;
    if (!capture) return null;
    const pictures = capture.call(this.video).getVideoTracks();
    this.stream ||= new MediaStream([...pictures, ...this.sound.stream.getAudioTracks()]);
    return this.stream;
  }

  async begin() {
    await this.video.play();
  }

  whenLost(act) {
    this.video.onended = () => act("end");
  }

  close() {
    this.video.pause();
    this.video.onended = null;
    this.video.onerror = null;
    this.video.removeAttribute("src");
    this.video.load();
    URL.revokeObjectURL(this.address);
  }
}

// Sound of a source: calls back with PCM16 blocks and the time of their first sample.
export class SoundTap {
  static context = null;

  static async open(source, onBlock) {
    const tap = new SoundTap();
    const context = (SoundTap.context ||= new AudioContext({ latencyHint: "interactive" }));
    if (!SoundTap.loaded) SoundTap.loaded = context.audioWorklet.addModule("/static/pcm_worklet.js");
    await SoundTap.loaded;
    const clock = new SoundClock();
    tap.source = source.listen(context);
    tap.node = new AudioWorkletNode(context, "pcm-tap", { numberOfOutputs: 0 });
    tap.node.port.onmessage = ({ data }) => {
      clock.take(data.end, performance.now());
      source.sounds(data.peak);
      onBlock(data.pcm, clock.at(data.time));
    };
    tap.source.connect(tap.node);
    context.resume(); // waits for a gesture where the browser wants one
    return tap;
  }

  static get asleep() {
    return SoundTap.context !== null && SoundTap.context.state === "suspended";
  }

  close() {
    this.node.port.postMessage("over");
    this.source.disconnect();
  }
}

// Turns what a video shows into JPEG, in a worker where the browser has the means.
class Encoder {
  constructor(done) {
    this.done = done;
    if ("OffscreenCanvas" in window) {
      this.worker = new Worker("/static/jpeg_worker.js");
      this.worker.onmessage = ({ data }) => done(data.bytes, data.time);
      this.worker.onerror = () => done(null, 0);
      return;
    }
    this.canvas = document.createElement("canvas");
    this.brush = this.canvas.getContext("2d", { alpha: false });
  }

  async take(video, width, height, time) {
    if (this.worker) {
      const bitmap = await createImageBitmap(video);
      this.worker.postMessage({ bitmap, width, height, quality: QUALITY, time }, [bitmap]);
      return;
    }
    Object.assign(this.canvas, { width, height });
    this.brush.drawImage(video, 0, 0, width, height);
    const blob = await new Promise((done) => this.canvas.toBlob(done, "image/jpeg", QUALITY));
    this.done(blob && (await blob.arrayBuffer()), time);
  }

  close() {
    this.worker?.terminate();
  }
}

// Pictures of a video element: JPEG at most 640 wide, upright, never mirrored, with the time at
// which they were captured as far as the browser says. One is encoded at a time; what comes
// meanwhile is left out.
export class PictureTap {
  constructor(video, onPicture, { rate = RATE, width = WIDTH } = {}) {
    Object.assign(this, { video, rate, width, open: true, busy: false, due: 0 });
    this.encoder = new Encoder((bytes, time) => {
      this.busy = false;
      if (this.open && bytes) onPicture(bytes, time);
    });
    this.next();
  }

  next() {
    if (!this.open) return;
    const again = (now, about) => {
      this.look(now, about || {});
      this.next();
    };
    if (this.video.requestVideoFrameCallback) this.video.requestVideoFrameCallback(again);
    else requestAnimationFrame(again);
  }

  look(now, { captureTime, mediaTime }) {
    const shown = performance.now();
    const known = Number.isFinite(captureTime) && captureTime <= shown && captureTime > shown - 1000;
    const ofFile = !this.video.srcObject && Number.isFinite(mediaTime);
    const seen = ofFile ? this.played(Math.min(now, shown), 1000 * mediaTime) : Math.min(now, shown);
    const time = known ? captureTime : seen;
    const { videoWidth, videoHeight } = this.video;
    const step = 1000 / this.rate;
    if (this.busy || !videoWidth || time < this.due - step / 4 || this.video.paused) return;
    this.due = Math.max(this.due + step, time + step / 2);
    const scale = Math.min(1, this.width / Math.max(videoWidth, videoHeight));
    this.busy = true;
    this.encoder
      .take(this.video, Math.round(videoWidth * scale), Math.round(videoHeight * scale), time)
      .catch(() => (this.busy = false)); // the picture has just gone
  }

  // When a file's picture was on the screen. We may be told late, and a busy machine tells late
  // often, but never early: the earliest counts, and is slowly forgotten, as a file may stall.
  played(told, ms) {
    const begun = told - ms;
    const far = !(Math.abs(begun - this.begun) < STALL);
    this.begun = far ? begun : Math.min(begun, this.begun + FORGOTTEN);
    return this.begun + ms;
  }

  close() {
    this.open = false;
    this.encoder.close();
  }
}

// The last pictures, to show an answer on the one that it is about.
export class Memory {
  constructor(kept = 30_000) {
    this.kept = kept;
    this.pictures = [];
  }

  add(bytes, time) {
    this.pictures.push({ blob: new Blob([bytes], { type: "image/jpeg" }), time });
    while (this.pictures[0].time < time - this.kept) this.pictures.shift();
  }

  at(time) {
    let best = null;
    for (const one of this.pictures)
      if (best === null || Math.abs(one.time - time) < Math.abs(best.time - time)) best = one;
    return best === null || Math.abs(best.time - time) > 1000 ? null : best.blob;
  }

  clear() {
    this.pictures = [];
  }
}
