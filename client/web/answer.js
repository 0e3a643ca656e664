// The answer: in words, on its picture, and spoken.
import { line, target } from "./paint.js";

const HAND = "#ff9f4a";

export const isChinese = (words) => /[\u3400-\u9fff]/.test(words);

export class AnswerView {
  constructor({ text, model, picture, list }, t) {
    Object.assign(this, { text, model, picture, list, t, shown: null, drawn: 0 });
  }

  // `pictureAt(time)` gives the JPEG nearest a moment of the session, or null.
  show(state, pictureAt) {
    const { answer, failure } = state;
    const now = failure || answer;
    if (now === this.shown) return;
    this.shown = now;
    this.text.classList.toggle("failed", failure !== null);
    this.model.textContent = now ? now.model : "";
    if (failure !== null) {
      this.text.textContent = this.t("model_failed", { text: failure.text });
      return;
    }
    this.text.textContent = answer ? answer.text : "";
    this.text.lang = answer && isChinese(answer.text) ? "zh" : "en";
    this.text.classList.toggle("open", answer !== null && !answer.final);
    this.list.replaceChildren(...(answer ? answer.referents.map((one) => this.item(state, one)) : []));
    this.draw(state, answer && pictureAt(answer.frame_time));
  }

  item(state, referent) {
    const item = document.createElement("li");
    const what = document.createElement("b");
    const words = [referent.label, referent.description].filter(Boolean).join(". ");
    what.textContent = words || this.t(referent.kind === "object" ? "some_object" : "some_place");
    const from = document.createElement("span");
    from.className = "quiet";
    const deictic = state.deictics.get(referent.deictic);
    const stroke = state.strokes.get(referent.stroke);
    const parts = [
      deictic ? `“${deictic.text}”` : null,
      stroke ? this.t("stroke_n", { n: stroke.index + 1 }) : null,
      referent.point ? `${Math.round(referent.confidence * 100)} %` : null,
    ];
    from.textContent = parts.filter(Boolean).join(" · ");
    item.append(what, from);
    return item;
  }

  async draw(state, blob) {
    const number = ++this.drawn;
    const image = blob ? await createImageBitmap(blob).catch(() => null) : null;
    if (number !== this.drawn) return;
    this.picture.hidden = image === null;
    if (image === null) return;
    const { answer } = state;
    const scale = Math.max(1, 960 / image.width);
    const [width, height] = [image.width * scale, image.height * scale];
    Object.assign(this.picture, { width, height });
    const brush = this.picture.getContext("2d");
    brush.drawImage(image, 0, 0, width, height);
    image.close();
    const at = ([x, y]) => [x * width, y * height];
    answer.referents.forEach((referent, n) => {
      const stroke = state.strokes.get(referent.stroke);
      if (stroke && referent.point) {
        line(brush, [at(stroke.tip), at(referent.point)], "#000a", 7, [2, 11]);
        line(brush, [at(stroke.tip), at(referent.point)], HAND, 4, [2, 11]);
      }
    });
    answer.referents.forEach((referent, n) => {
      if (!referent.point) return;
      const [x, y] = at(referent.point);
      target(brush, [x, y], n + 1, { size: 2.2 });
    });
    const said = answer.referents.map((one, n) => `${n + 1}: ${one.description}`).join("; ");
    this.picture.setAttribute("aria-label", this.t("answer_picture", { said }));
  }
}

// Speaks each final answer once. Speaking again, or the Escape key, stops it.
export class Voice {
  constructor(onSpeaking) {
    this.onSpeaking = onSpeaking;
    this.on = "speechSynthesis" in window;
    this.said = null;
  }

  take(answer) {
    if (!answer || !answer.final || answer === this.said) return;
    this.said = answer;
    if (!this.on || !answer.text) return;
    this.stop();
    const utterance = new SpeechSynthesisUtterance(answer.text);
    utterance.lang = isChinese(answer.text) ? "zh-CN" : "en-US";
    const voices = speechSynthesis.getVoices().filter((one) => one.lang.replace("_", "-").startsWith(utterance.lang.slice(0, 2)));
    utterance.voice = voices.find((one) => one.localService) || voices[0] || null;
    utterance.onstart = () => this.onSpeaking(true);
    utterance.onend = utterance.onerror = () => this.onSpeaking(false);
    speechSynthesis.speak(utterance);
  }

  stop() {
    if (!("speechSynthesis" in window)) return;
    speechSynthesis.cancel();
    this.onSpeaking(false);
  }
}
