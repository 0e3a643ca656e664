// On the audio thread: whatever the sound card gives becomes mono PCM16 at 16 kHz, in blocks.

const RATE = 16000;
const BLOCK = 640; // 40 ms
const HALF = 24; // taps on each side, at the output's rate when it is lower
const PHASES = 256;

// A windowed sinc, centred: the sound is not delayed by it, only known a little later.
function makeKernel(ratio) {
  const cut = 0.92 * Math.min(1, 1 / ratio);
  const half = Math.ceil(HALF * Math.max(1, ratio)) >> 1;
  const rows = [];
  for (let phase = 0; phase <= PHASES; phase++) {
    const row = new Float32Array(2 * half);
    let sum = 0;
    for (let k = 0; k < 2 * half; k++) {
      const x = k - half + 1 - phase / PHASES;
      const sinc = x === 0 ? 1 : Math.sin(Math.PI * cut * x) / (Math.PI * cut * x);
      const window = 0.5 + 0.5 * Math.cos((Math.PI * Math.max(-half, Math.min(half, x))) / half);
      row[k] = sinc * window;
      sum += row[k];
    }
    for (let k = 0; k < 2 * half; k++) row[k] /= sum;
    rows.push(row);
  }
  return { half, rows };
}

class PcmTap extends AudioWorkletProcessor {
  constructor() {
    super();
    this.ratio = sampleRate / RATE;
    this.kernel = makeKernel(this.ratio);
    this.held = new Float32Array(8192);
    this.count = this.kernel.half; // silence before the first sample
    this.heldFrom = null; // context frame of held[0]
    this.next = 0; // next output's place, in context frames
    this.block = new Int16Array(BLOCK);
    this.filled = 0;
    this.peak = 0;
    this.first = 0;
    this.port.onmessage = () => (this.over = true);
  }

  process(inputs) {
    if (this.over) return false;
    if (this.heldFrom === null) {
      this.heldFrom = currentFrame - this.count;
      this.next = currentFrame;
    }
    this.hold(inputs[0] || []);
    this.resample();
    return true;
  }

  hold(channels) {
    const frames = channels.length ? channels[0].length : 128; // nothing connected is silence
    for (let n = 0; n < frames; n++) {
      let sum = 0;
      for (const channel of channels) sum += channel[n];
      this.held[this.count++] = channels.length ? sum / channels.length : 0;
    }
  }

  resample() {
    const { half, rows } = this.kernel;
    for (;;) {
      const whole = Math.floor(this.next);
      const start = whole - half + 1 - this.heldFrom;
      if (start + 2 * half > this.count) break;
      const row = rows[Math.round((this.next - whole) * PHASES)];
      let sum = 0;
      for (let k = 0; k < row.length; k++) sum += row[k] * this.held[start + k];
      this.put(sum);
      this.next += this.ratio;
    }
    const done = Math.floor(this.next) - half + 1 - this.heldFrom;
    if (done > 4096) {
      this.held.copyWithin(0, done, this.count);
      this.count -= done;
      this.heldFrom += done;
    }
  }

  put(value) {
    if (this.filled === 0) this.first = this.next;
    const clipped = Math.max(-1, Math.min(1, value));
    this.peak = Math.max(this.peak, Math.abs(clipped));
    this.block[this.filled++] = Math.round(clipped * 32767);
    if (this.filled < BLOCK) return;
    const end = ((currentFrame + 128) / sampleRate) * 1000;
    const time = (this.first / sampleRate) * 1000;
    this.port.postMessage({ pcm: this.block.buffer, time, end, peak: this.peak }, [this.block.buffer]);
    this.block = new Int16Array(BLOCK);
    this.filled = 0;
    this.peak = 0;
  }
}

registerProcessor("pcm-tap", PcmTap);
