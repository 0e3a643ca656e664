// The interface's words, in English and Chinese. Texts enter the page as text only.

const EN = {
  tongue: "中文", tongue_label: "Switch to Chinese", skip: "Skip to the controls", brand_live: "live", help: "Keys and help", close: "Close", cancel: "Cancel", done: "Done",
  picture: "Picture", controls: "Controls", invite: "Point, and say what you mean.", invite_more: "“Put this over there.”",
  drop_hint: "Or drop a video here: it is streamed as if it were live.", drop_now: "Drop the video to stream it",
  start: "Start", stop: "Stop", mute: "Mute the microphone", unmute: "Unmute the microphone", mirror: "Mirror the preview", speak: "Speak answers aloud",
  record: "Record", recording: "Recording", open_file: "Video file…", settings: "Settings",
  said: "You said", said_nothing: "Your words appear here; the ones that point are blue.", answer: "Answer", answer_nothing: "What you meant appears here.",
  timeline: "Timeline", timeline_label: "Timeline of the last seconds; arrow keys go back and forth",
  camera: "Camera", microphone: "Microphone", any_camera: "Any camera", any_microphone: "Any microphone", nth_camera: "Camera {n}", nth_microphone: "Microphone {n}",
  spoken: "Spoken language", auto: "Automatic", transport: "Sent as",
  by_pcm: "Sound and pictures", by_webm: "WebM recording", by_whip: "WebRTC (WHIP)",
  headphones: "I wear headphones", headphones_why: "The microphone stays open while the answer is spoken, so that you can interrupt it.",
  token: "Access token", token_why: "This server asks for the token that it printed when it started.", token_kept: "It is kept in this tab only.", connect: "Connect",
  keys: "Keys", key_start: "start or stop", key_mute: "mute the microphone", key_mirror: "mirror the preview", key_speak: "speak answers aloud", key_record: "record",
  key_tongue: "English or Chinese", key_help: "this help", key_escape: "stop speaking", key_arrows: "go back and forth on the timeline", Space: "Space", Arrows: "← →",
  lane_speech: "speech", lane_hand: "strokes", lane_word: "words", lane_stroke: "strokes", lane_binding: "bindings", lane_answer: "answers",
  late_word: "word", late_stroke: "stroke", late_binding: "binding", late_answer: "answer", late_network: "network",
  late_why: "Median from when it happened until it is on this page",
  stroke_n: "stroke {n}", some_object: "an object that cannot be named", some_place: "a place that cannot be named",
  answer_picture: "The picture that the answer is about. {said}", model_failed: "The model gave no answer: {text}",
  state_idle: "Ready", state_asking: "Waiting for permission", state_connecting: "Connecting", state_live: "Live", state_retrying: "Connection lost, trying again in {s} s",
  state_ending: "Finishing", state_ended: "Ended", state_watching: "Watching", state_problem: "Stopped", wake: "Click or press a key to let the sound in", no_sound: "no sound", no_picture: "no picture", muted: "muted",
  left_out: "{n} pictures left out to keep up", notes_seen: "{n} × {kind}",
  insecure_title: "The browser gives no camera to this address", insecure: "Cameras and microphones work on https:// addresses and on localhost only. Open the https:// address that the server printed. Its own certificate makes the browser warn once: compare the fingerprint with the printed one, then go on.",
  unsupported_title: "This browser has no camera interface", unsupported: "Use a current Chrome, Edge, Firefox or Safari, or drop a video file here.",
  denied_title: "Camera and microphone are not allowed", denied: "Allow them by the icon beside the address (on phones also in the system's settings for the browser), then try again.",
  none_title: "No camera and no microphone found", none: "Plug one in and try again, or drop a video file here.",
  busy_title: "The camera or microphone is in use", busy: "Another program or tab holds it. Close that, then try again.",
  gone_title: "The chosen device is gone", gone: "Choose another one in the settings.",
  capture_title: "Camera and microphone do not start", capture: "The browser says: {detail}",
  file_title: "This file cannot be played", file: "The browser cannot play {detail}. `deixis publish` sends any file that FFmpeg reads.",
  stream_title: "This browser cannot send a file that way", stream: "Choose “Sound and pictures” in the settings.",
  lost_device_title: "The {detail} was unplugged or taken away", lost_device: "The session goes on without it. Choose another one in the settings, or start again.",
  refused_title: "The server takes no session now", refused: "{detail}",
  record_failed_title: "Recording does not start", record_failed: "{detail}",
  again: "Try again",
};

const ZH = {
  tongue: "EN", tongue_label: "切换到英文", skip: "跳到控制按钮", brand_live: "实时", help: "快捷键与帮助", close: "关闭", cancel: "取消", done: "完成",
  picture: "画面", controls: "控制", invite: "指一指，说出来。", invite_more: "“把这个放到那里。”",
  drop_hint: "也可以把视频拖到这里：它会像现场一样播放并发送。", drop_now: "松开即可发送视频",
  start: "开始", stop: "停止", mute: "关闭麦克风", unmute: "打开麦克风", mirror: "镜像预览", speak: "朗读回答",
  record: "录制", recording: "正在录制", open_file: "视频文件…", settings: "设置",
  said: "你说的话", said_nothing: "你说的话会出现在这里，指示词为蓝色。", answer: "回答", answer_nothing: "你所指的东西会出现在这里。",
  timeline: "时间线", timeline_label: "最近几秒的时间线；方向键前后移动",
  camera: "摄像头", microphone: "麦克风", any_camera: "任意摄像头", any_microphone: "任意麦克风", nth_camera: "摄像头 {n}", nth_microphone: "麦克风 {n}",
  spoken: "说话语言", auto: "自动", transport: "发送方式",
  by_pcm: "声音和图片", by_webm: "WebM 录像", by_whip: "WebRTC（WHIP）",
  headphones: "我戴着耳机", headphones_why: "朗读回答时麦克风保持打开，你可以随时打断。",
  token: "访问令牌", token_why: "服务器需要它启动时显示的令牌。", token_kept: "只保存在这个标签页里。", connect: "连接",
  keys: "快捷键", key_start: "开始或停止", key_mute: "关闭麦克风", key_mirror: "镜像预览", key_speak: "朗读回答", key_record: "录制",
  key_tongue: "中文或英文", key_help: "显示帮助", key_escape: "停止朗读", key_arrows: "在时间线上前后移动", Space: "空格", Arrows: "← →",
  lane_speech: "语音", lane_hand: "手势", lane_word: "词语", lane_stroke: "手势", lane_binding: "绑定", lane_answer: "回答",
  late_word: "词语", late_stroke: "手势", late_binding: "绑定", late_answer: "回答", late_network: "网络",
  late_why: "从发生到出现在本页的中位时间",
  stroke_n: "手势 {n}", some_object: "说不出名字的物体", some_place: "说不出名字的位置",
  answer_picture: "回答所指的画面。{said}", model_failed: "模型没有给出回答：{text}",
  state_idle: "就绪", state_asking: "等待授权", state_connecting: "正在连接", state_live: "实时", state_retrying: "连接中断，{s} 秒后重试",
  state_ending: "正在收尾", state_ended: "已结束", state_watching: "观看中", state_problem: "已停止", wake: "点击或按任意键以接入声音", no_sound: "无声音", no_picture: "无画面", muted: "已静音",
  left_out: "为跟上进度略过 {n} 张图片", notes_seen: "{n} × {kind}",
  insecure_title: "浏览器不允许在此地址使用摄像头", insecure: "摄像头和麦克风只能在 https:// 地址或 localhost 上使用。请打开服务器显示的 https:// 地址。自签证书会让浏览器警告一次：核对指纹后继续。",
  unsupported_title: "此浏览器没有摄像头接口", unsupported: "请使用较新的 Chrome、Edge、Firefox 或 Safari，或者把视频文件拖到这里。",
  denied_title: "摄像头和麦克风未获授权", denied: "请在地址栏旁的图标里允许使用（手机上还要在系统设置里允许浏览器使用），然后重试。",
  none_title: "没有找到摄像头和麦克风", none: "请接上设备后重试，或者把视频文件拖到这里。",
  busy_title: "摄像头或麦克风正被占用", busy: "其他程序或标签页正在使用它。请关闭后重试。",
  gone_title: "所选设备已不在", gone: "请在设置里选择其他设备。",
  capture_title: "摄像头和麦克风无法启动", capture: "浏览器报告：{detail}",
  file_title: "无法播放此文件", file: "浏览器无法播放 {detail}。`deixis publish` 可以发送 FFmpeg 能读取的任何文件。",
  stream_title: "此浏览器不能用这种方式发送文件", stream: "请在设置里选择“声音和图片”。",
  lost_device_title: "设备已断开：{detail}", lost_device: "会话在没有它的情况下继续。可在设置里选择其他设备，或重新开始。",
  refused_title: "服务器现在不接受新的会话", refused: "{detail}",
  record_failed_title: "无法开始录制", record_failed: "{detail}",
  again: "重试",
};

const TEXTS = { en: EN, zh: ZH };
let tongue = stored() || (navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");

function stored() {
  try {
    const kept = localStorage.getItem("deixis-tongue");
    return kept in TEXTS ? kept : null;
  } catch {
    return null;
  }
}

export const tongueNow = () => tongue;

export function t(key, values = {}) {
  const text = TEXTS[tongue][key] ?? EN[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => `${values[name] ?? ""}`);
}

// Writes every marked text of the page: `data-t` is its content, `data-t-label` its spoken name,
// `data-t-title` what hovering shows.
export function translate(root = document) {
  document.documentElement.lang = tongue === "zh" ? "zh-Hans" : "en";
  for (const node of root.querySelectorAll("[data-t]")) node.textContent = t(node.dataset.t);
  for (const node of root.querySelectorAll("[data-t-label]")) node.setAttribute("aria-label", t(node.dataset.tLabel));
  for (const node of root.querySelectorAll("[data-t-title]")) node.title = t(node.dataset.tTitle);
}

export function turnTongue() {
  tongue = tongue === "en" ? "zh" : "en";
  try {
    localStorage.setItem("deixis-tongue", tongue);
  } catch {
    // private windows may refuse; the choice then holds for this visit
  }
  translate();
}

export const missing = () => ({
  en: Object.keys(ZH).filter((key) => !(key in EN)),
  zh: Object.keys(EN).filter((key) => !(key in ZH)),
});
