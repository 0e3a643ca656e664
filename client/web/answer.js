// The answer: in words, on its picture, and spoken.
import { line, target } from "./paint.js";

const HAND = "#ff9f4a";
const BEFORE = 3; // earlier answers that stay in sight

export const isChinese = (words) => /[\u3400-\u9fff]/.test(words);

function said(tag, text, className = "") {
  const node = document.createElement(tag);
  node.textContent = text;
  if (className) node.className = className;
  return node;
}

export class AnswerView {
  constructor({ text, model, tag, picture, list, caption, before }, t) {
    Object.assign(this, { text, model, tag, picture, list, caption, before, t, shown: null, drawn: 0 });
  }

  // `pictureAt(time)` gives the JPEG nearest a moment of the session, or null.
  show(state, pictureAt) {
    const { turn } = state;
    const key = JSON.stringify([turn, [...state.turns.values()].map((one) => one.stopped)]);
    if (key === this.shown) return;
    this.shown = key;
    this.told(turn);
    const answer = turn?.answer || null;
    this.list.replaceChildren(...(answer ? answer.referents : []).map((one) => this.item(state, one)));
    this.draw(state, answer, answer && pictureAt(answer.frame_time));
    this.earlier(state, turn);
  }

  told(turn) {
    const { answer, failure, stopped } = turn || {};
    const { classList } = this.text;
    const broken = Boolean(failure);
    const nothing = this.t(turn && !stopped ? "answer_asked" : "answer_nothing");
    this.text.textContent = broken ? this.t("model_failed", { text: failure.text }) : answer?.text || nothing;
    this.text.lang = !broken && answer?.text ? (isChinese(answer.text) ? "zh" : "en") : "";
    const open = !broken && !stopped && turn !== null && !answer?.final;
    this.text.setAttribute("aria-busy", `${open}`);
    classList.toggle("failed", broken);
    classList.toggle("quiet", !broken && !answer?.text);
    classList.toggle("open", open);
    classList.toggle("stopped", Boolean(stopped) && !broken);
    this.model.textContent = (failure || answer)?.model || "";
    this.tag.hidden = !stopped || broken;
    this.tag.textContent = stopped ? this.t(`answer_${stopped}`) : "";
  }

  item(state, referent) {
    const item = document.createElement("li");
    const words = [referent.label, referent.description].filter(Boolean).join(". ");
    const deictic = state.deictics.get(referent.deictic);
    const stroke = state.strokes.get(referent.stroke);
    const parts = [
      deictic ? `“${deictic.text}”` : null,
      stroke ? this.t("stroke_n", { n: stroke.index + 1 }) : null,
      referent.point ? `${Math.round(referent.confidence * 100)} %` : null,
    ];
    item.append(
      said("b", words || this.t(referent.kind === "object" ? "some_object" : "some_place")),
      said("span", parts.filter(Boolean).join(" · "), "quiet"),
    );
    return item;
  }

  // What was answered before, and what became of it.
  earlier(state, current) {
    const turns = [...state.turns.values()].filter((one) => one !== current && one.answer?.text);
    const items = turns.slice(-BEFORE).reverse().map(({ answer, stopped }) => {
      const item = document.createElement("li");
      item.append(said(stopped ? "s" : "span", answer.text));
      if (stopped) item.append(said("span", this.t(`answer_${stopped}`), "tag"));
      return item;
    });
    this.before.parentElement.hidden = items.length === 0;
    this.before.replaceChildren(...items);
  }

  async draw(state, answer, blob) {
    const number = ++this.drawn;
    const image = blob ? await createImageBitmap(blob).catch(() => null) : null;
    if (number !== this.drawn) return;
    this.picture.hidden = this.caption.hidden = image === null;
    if (image === null) return;
    const scale = Math.max(1, 960 / image.width);
    const [width, height] = [image.width * scale, image.height * scale];
    Object.assign(this.picture, { width, height });
    const brush = this.picture.getContext("2d");
    brush.drawImage(image, 0, 0, width, height);
    image.close();
    const at = ([x, y]) => [x * width, y * height];
    for (const referent of answer.referents) {
      const stroke = state.strokes.get(referent.stroke);
      if (!stroke || !referent.point) continue;
      // The tip was seen at another moment: it is carried to the picture that is shown.
      const tip = state.carried(stroke.tip, stroke.apex, answer.frame_time);
      if (!tip) continue;
      line(brush, [at(tip), at(referent.point)], "#000a", 7, [2, 11]);
      line(brush, [at(tip), at(referent.point)], HAND, 4, [2, 11]);
    }
    answer.referents.forEach((referent, n) => {
      if (referent.point) target(brush, at(referent.point), n + 1, { size: 2.2 });
    });
    const named = answer.referents.map((one, n) => `${n + 1}: ${one.description}`).join("; ");
    this.picture.setAttribute("aria-label", this.t("answer_picture", { said: named }));
  }
}

// Speaks each final answer once. Speaking again, or the Escape key, stops it.
export class Voice {
  constructor(onSpeaking) {
    this.onSpeaking = onSpeaking;
    this.on = "speechSynthesis" in window;
    this.said = null;
    this.turn = null; // the question whose answer is being spoken
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
    utterance.onstart = () => this.turn === answer.turn && this.onSpeaking(true);
    utterance.onend = utterance.onerror = () => this.turn === answer.turn && this.over();
    this.turn = answer.turn;
    this.utterance = utterance; // some browsers forget what nobody holds, and then never say that it ended
    speechSynthesis.speak(utterance);
  }

  over() {
    this.turn = this.utterance = null;
    this.onSpeaking(false);
  }

  stop() {
    if (!("speechSynthesis" in window)) return;
    speechSynthesis.cancel();
    this.over();
  }
}
